// Hybrid logical clock (Kulkarni et al., 2014): stamps that follow the wall clock and never
// contradict the order of messages. A stamp is unix ms << 16 | counter. Value type; one thread.

#ifndef TELLTALE_AGENT_UPLINK_HLC_H_
#define TELLTALE_AGENT_UPLINK_HLC_H_

#include <algorithm>
#include <cstdint>

namespace telltale::agent {

class Hlc {
 public:
  // A received stamp further ahead than this is not merged: one wild clock must not move all
  // others.
  static constexpr uint64_t kMaxAheadMs = 2'000;

  uint64_t Now(uint64_t wall_ns) {
    last_ = std::max(last_ + 1, FromWall(wall_ns));
    return last_;
  }

  // False: too far ahead, counted and left out.
  bool Merge(uint64_t stamp, uint64_t wall_ns) {
    if ((stamp >> 16) > wall_ns / 1'000'000 + kMaxAheadMs) {
      ++refused_;
      return false;
    }
    last_ = std::max(last_, stamp);
    return true;
  }

  uint64_t last() const { return last_; }
  uint64_t refused() const { return refused_; }

 private:
  static uint64_t FromWall(uint64_t wall_ns) { return wall_ns / 1'000'000 << 16; }

  uint64_t last_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_HLC_H_
