// Connections that wait until gRPC may begin with them: a line for each address, whose turns come
// round. So neither a fleet behind one address nor one of many is refused when it comes back at
// once, and an address that floods the door makes itself wait and nobody else: its line has places
// of its own, so that it does not stand outside, where addresses are not told apart.
//
// Of a line the last to come is the first to go in: when more come than can be served, whoever has
// waited longest is about to give up, and to begin with him would be in vain.
//
// Knows sockets by their numbers alone and closes none. One thread.

#ifndef TELLTALE_COLLECTOR_WAITING_ROOM_H_
#define TELLTALE_COLLECTOR_WAITING_ROOM_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace telltale::collector {

class WaitingRoom {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // An address with so many in line is a crowd: a flood, or a fleet behind one address.
  static constexpr size_t kCrowd = 16;

  // `for_crowds`: more places, while there is a crowd.
  WaitingRoom(size_t places, size_t for_crowds) : places_(places), for_crowds_(for_crowds) {}

  // Whether somebody who comes now finds a place, his own or one of a crowd. If not, he is to wait
  // further out: he is nobody's flood.
  bool HasRoom() const { return size_ < places_ || !crowds_.empty(); }
  // Lets a connection of this address in. Who has no place for it: the one of the longest line that
  // has waited longest.
  std::optional<int> Enter(const std::string& address, int connection, Time now);
  struct Turn {
    std::string key;  // LimitKey of the address
    int connection;
  };
  // Whose turn it is: of the next line whose key `may` go in. Nothing: there is none.
  std::optional<Turn> Next(const std::function<bool(const std::string& key)>& may);
  // Turns out whoever came before that.
  std::vector<int> TurnOutThoseSince(Time before);
  size_t size() const { return size_; }
  size_t lines() const { return lines_.size(); }

 private:
  struct Waiter {
    int connection;
    Time since;
  };
  using Line = std::deque<Waiter>;

  void Leave(const std::string& address, const Line& line);
  int TurnOutFirstOfLongest();

  const size_t places_, for_crowds_;
  size_t size_ = 0;
  std::unordered_map<std::string, Line> lines_;  // none of them is empty
  std::deque<std::string> turns_;                // each address in lines_ once
  std::set<std::string> crowds_;                 // lines of kCrowd and more
};

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_WAITING_ROOM_H_
