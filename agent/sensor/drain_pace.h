// How long the ring of samples may be left alone after it was drained. What a sample needs of its
// process (its mappings, the name of its program) is there only while the process lives, so after
// an exec the ring is drained often, until what was started has grown old enough to be no fleeting
// one. On a quiet host each rest is twice as long as the one before; kernel programs end it early
// (bpf/rouse.bpf.h) at an exec, when the ring fills or when a CPU has been busy for a while.
//
// Pure. Owned by the sensor, its thread only. Times are CLOCK_MONOTONIC ns.

#ifndef TELLTALE_AGENT_SENSOR_DRAIN_PACE_H_
#define TELLTALE_AGENT_SENSOR_DRAIN_PACE_H_

#include <algorithm>
#include <cstdint>

#include "sketch/time_units.h"

namespace telltale::agent {

class DrainPace {
 public:
  static constexpr uint64_t kShortest = 100 * kNsPerMs;
  static constexpr uint64_t kLongest = 1'000 * kNsPerMs;
  static constexpr uint64_t kYoung = 1'000 * kNsPerMs;  // age of a process that may soon be gone

  // The ring was just drained. `execs`: it told of programs started; `roused`: the rest before it
  // was ended early.
  void Drained(uint64_t now_ns, bool execs, bool roused) {
    if (execs) young_until_ns_ = now_ns + kYoung;
    rest_ns_ = roused || now_ns < young_until_ns_ ? kShortest : std::min(2 * rest_ns_, kLongest);
  }
  uint64_t rest_ns() const { return rest_ns_; }

 private:
  uint64_t rest_ns_ = kShortest;
  uint64_t young_until_ns_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_DRAIN_PACE_H_
