// When to cut: on multiples of the epoch length in the collector's time, so that the windows of all
// nodes agree; lengths are measured by CLOCK_MONOTONIC, so a stepped wall clock cannot make an
// epoch shorter than a quarter or longer than one and a quarter of what is configured; only one
// whose cut failed is. The first epoch is cut early, so that a fresh agent has something to say
// within seconds.
//
// Value type; the sensor thread. Times in ns; `collector_ns` is the wall clock plus the known
// offset.

#ifndef TELLTALE_AGENT_LOOP_CUT_SCHEDULE_H_
#define TELLTALE_AGENT_LOOP_CUT_SCHEDULE_H_

#include <cstdint>
#include <optional>

#include "telltale/v1/summary.pb.h"

namespace telltale::agent {

class CutSchedule {
 public:
  struct Options {
    uint32_t length_s = 60;
    uint32_t first_s = 10;  // of the first epoch, if the length is not shorter still
  };
  explicit CutSchedule(const Options& options);

  // An epoch begins now.
  void Begin(uint64_t mono_ns, uint64_t collector_ns);

  // What was due could not be done and the epoch goes on: it is due again in a while.
  void Postpone(uint64_t mono_ns);

  // The kind of the epoch that ends now, or nothing: not yet.
  std::optional<v1::EpochKind> Due(uint64_t mono_ns, uint64_t collector_ns) const;

  // How long until Due may change its mind, if no clock is stepped.
  uint64_t WaitNs(uint64_t mono_ns, uint64_t collector_ns) const;

 private:
  uint64_t Boundary() const;

  const uint64_t length_ns_, first_ns_;
  uint64_t started_mono_ns_ = 0, started_collector_ns_ = 0;
  uint64_t begun_ = 0;          // epochs begun so far
  uint64_t again_mono_ns_ = 0;  // 0: was not postponed
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_LOOP_CUT_SCHEDULE_H_
