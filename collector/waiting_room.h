// Connections that wait until gRPC may begin with them: a line for each address, whose turns come
// round. So neither a fleet behind one address nor one of many is refused when it comes back at
// once, and an address that floods the door makes itself wait, and nobody else.
//
// Knows sockets by their numbers alone and closes none. One thread.

#ifndef TELLTALE_COLLECTOR_WAITING_ROOM_H_
#define TELLTALE_COLLECTOR_WAITING_ROOM_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace telltale::collector {

class WaitingRoom {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // An address with so many in line has come to flood the door, if it is full and others come, too.
  static constexpr size_t kCrowd = 16;

  explicit WaitingRoom(size_t places) : places_(places) {}

  // Whether somebody who comes now finds a place, his own or one of a crowd. If not, he is to wait
  // further out: he is nobody's flood.
  bool HasRoom(Time now) const;
  // Lets a connection of this address in, at the end of its line. Who has no place for it, the last
  // of the longest line: that may be this one.
  std::optional<int> Enter(const std::string& address, int connection, Time now);
  // Whose turn it is, the first of the next address's line; nothing: nobody waits.
  std::optional<int> Next();
  size_t size() const { return size_; }

 private:
  // For so long it counts that another address came.
  static constexpr std::chrono::minutes kOthersCount{1};

  bool Full() const { return size_ >= places_; }
  void Leave(const std::string& address, std::deque<int>& line);
  int TurnOutLastOfLongest();

  const size_t places_;
  size_t size_ = 0;
  std::unordered_map<std::string, std::deque<int>> lines_;  // none of them is empty
  std::deque<std::string> turns_;                           // each address in lines_ once
  std::set<std::string> crowds_;                            // lines of kCrowd and more
  std::string last_address_;
  Time others_until_{};
};

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_WAITING_ROOM_H_
