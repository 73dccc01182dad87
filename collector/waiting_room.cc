#include "collector/waiting_room.h"

#include <algorithm>
#include <utility>

#include "collector/access/address_limits.h"

namespace telltale::collector {

std::optional<int> WaitingRoom::Enter(const std::string& address, int connection, Time now) {
  std::string key = access::LimitKey(address);
  Line& line = lines_[key];
  if (line.empty()) turns_.push_back(key);
  line.push_back({connection, now});
  ++size_;
  if (line.size() >= kCrowd) crowds_.insert(std::move(key));
  if (size_ <= places_ + for_crowds_ || crowds_.empty()) return std::nullopt;
  return TurnOutFirstOfLongest();
}

std::optional<WaitingRoom::Turn> WaitingRoom::Next(
    const std::function<bool(const std::string& key)>& may) {
  const auto next = std::ranges::find_if(turns_, may);
  if (next == turns_.end()) return std::nullopt;
  Turn turn{std::move(*next), -1};
  turns_.erase(next);
  Line& line = lines_.at(turn.key);
  turn.connection = line.back().connection;
  line.pop_back();
  if (!line.empty()) turns_.push_back(turn.key);
  Leave(turn.key, line);
  return turn;
}

std::vector<int> WaitingRoom::TurnOutThoseSince(Time before) {
  std::vector<int> turned_out;
  std::erase_if(turns_, [&](const std::string& key) {
    Line& line = lines_.at(key);
    bool empty = false;
    while (!empty && line.front().since < before) {
      turned_out.push_back(line.front().connection);
      line.pop_front();
      empty = line.empty();
      Leave(key, line);
    }
    return empty;
  });
  return turned_out;
}

// One has left this line.
void WaitingRoom::Leave(const std::string& address, const Line& line) {
  --size_;
  if (line.size() < kCrowd) crowds_.erase(address);
  if (line.empty()) lines_.erase(address);
}

int WaitingRoom::TurnOutFirstOfLongest() {
  const std::string longest = *std::ranges::max_element(
      crowds_, {}, [this](const std::string& address) { return lines_.at(address).size(); });
  Line& line = lines_.at(longest);
  const int first = line.front().connection;
  line.pop_front();
  Leave(longest, line);
  return first;
}

}  // namespace telltale::collector
