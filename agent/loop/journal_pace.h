// When the running epoch is drafted for the journal: every few seconds, less often where drafts
// would take more than their share of a CPU, at least four times an epoch: what a crash may cost
// grows with what it takes to be prepared for it.
//
// Pure. Owned by the loop, its thread only. Times are CLOCK_MONOTONIC ns.

#ifndef TELLTALE_AGENT_LOOP_JOURNAL_PACE_H_
#define TELLTALE_AGENT_LOOP_JOURNAL_PACE_H_

#include <algorithm>
#include <cstdint>

#include "sketch/time_units.h"

namespace telltale::agent {

class JournalPace {
 public:
  static constexpr uint64_t kShare = 2'000;  // of one CPU's time: a part in so many

  JournalPace(uint64_t shortest_ns, uint64_t epoch_s)
      : longest_ns_(epoch_s * kNsPerS / 4), shortest_ns_(std::min(shortest_ns, longest_ns_)) {}

  // An epoch has begun. The drafts of one cost about as much as those of the one before.
  void Begin(uint64_t now_ns) { at_ns_ = now_ns + wait_ns_; }
  // A draft took so much CPU time.
  void Drafted(uint64_t now_ns, uint64_t cpu_ns) {
    wait_ns_ = std::clamp(cpu_ns * kShare, shortest_ns_, longest_ns_);
    at_ns_ = now_ns + wait_ns_;
  }
  uint64_t at_ns() const { return at_ns_; }

 private:
  const uint64_t longest_ns_, shortest_ns_;
  uint64_t wait_ns_ = shortest_ns_;
  uint64_t at_ns_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_LOOP_JOURNAL_PACE_H_
