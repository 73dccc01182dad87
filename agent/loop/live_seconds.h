// Which second is told next while somebody looks, and its totals, of a sensor's running epoch or of
// the one that just ended. A second that a busy loop missed is not told later: only the newest
// counts.
//
// Sensor thread only. Times are CLOCK_MONOTONIC ns.

#ifndef TELLTALE_AGENT_LOOP_LIVE_SECONDS_H_
#define TELLTALE_AGENT_LOOP_LIVE_SECONDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/sensor/sensor.h"
#include "telltale/v1/ingest.pb.h"

namespace telltale::agent {

class LiveSeconds {
 public:
  void WatchUntil(uint64_t mono_ns) { until_ns_ = mono_ns; }
  bool Watched(uint64_t mono_ns) const { return mono_ns < until_ns_; }
  // Somebody looks, and a second that was not told has ended.
  bool Due(uint64_t mono_ns) const { return Watched(mono_ns) && mono_ns >= next_ns_; }

  // The newest whole second of `epoch`, unless it was told. Vitals that are unavailable are left
  // out, and a second in which nothing at all was counted is not told: no host is that idle, but
  // the sensor may have been off, or so starved that it lost the second. They are not zero. Nor is
  // a degraded vital of which nothing was seen: where tasks are looked at some times a second, or
  // less often, none may have been in this one. It is left out, too.
  void Add(const RawEpoch& epoch, const std::vector<VitalStatus>& states,
           int64_t wall_minus_mono_ns);
  std::optional<v1::Live> Take();

 private:
  uint64_t until_ns_ = 0;
  uint64_t next_ns_ = 0;  // when the next second ends
  uint64_t told_ns_ = 0;  // end of the last one told
  std::optional<v1::Live> second_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_LOOP_LIVE_SECONDS_H_
