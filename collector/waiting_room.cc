#include "collector/waiting_room.h"

#include <algorithm>
#include <utility>

#include "collector/access/address_limits.h"

namespace telltale::collector {

bool WaitingRoom::HasRoom(Time now) const {
  return !Full() || (now < others_until_ && !crowds_.empty());
}

std::optional<int> WaitingRoom::Enter(const std::string& address, int connection, Time now) {
  std::string key = access::LimitKey(address);
  if (!last_address_.empty() && key != last_address_) others_until_ = now + kOthersCount;
  last_address_ = key;
  std::deque<int>& line = lines_[key];
  if (line.empty()) turns_.push_back(key);
  line.push_back(connection);
  ++size_;
  if (line.size() >= kCrowd) crowds_.insert(std::move(key));
  if (size_ <= places_ || crowds_.empty()) return std::nullopt;
  return TurnOutLastOfLongest();
}

std::optional<int> WaitingRoom::Next() {
  if (turns_.empty()) return std::nullopt;
  std::string address = std::move(turns_.front());
  turns_.pop_front();
  std::deque<int>& line = lines_.at(address);
  const int connection = line.front();
  line.pop_front();
  if (!line.empty()) turns_.push_back(address);
  Leave(address, line);
  return connection;
}

// One has left this line.
void WaitingRoom::Leave(const std::string& address, std::deque<int>& line) {
  --size_;
  if (line.size() < kCrowd) crowds_.erase(address);
  if (line.empty()) lines_.erase(address);
}

int WaitingRoom::TurnOutLastOfLongest() {
  const std::string longest = *std::ranges::max_element(
      crowds_, {}, [this](const std::string& address) { return lines_.at(address).size(); });
  std::deque<int>& line = lines_.at(longest);
  const int last = line.back();
  line.pop_back();
  Leave(longest, line);
  return last;
}

}  // namespace telltale::collector
