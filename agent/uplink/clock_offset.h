// How far the collector's clock is from this node's, from probes (after Mills' clock filter, RFC
// 5905 section 10): of the last eight exchanges the one with the least round trip is believed,
// because the error of an offset is at most half its round trip. Value type; one thread.

#ifndef TELLTALE_AGENT_UPLINK_CLOCK_OFFSET_H_
#define TELLTALE_AGENT_UPLINK_CLOCK_OFFSET_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "telltale/v1/ingest.pb.h"

namespace telltale::agent {

class ClockOffset {
 public:
  // `got_unix_ns` is when the reply arrived, `round_trip_mono_ns` how long it took by the monotonic
  // clock. False: the reply makes no sense (times out of order) or the node's clock was stepped
  // meanwhile; after a step all earlier exchanges are forgotten.
  bool Add(const v1::ProbeReply& reply, uint64_t got_unix_ns, uint64_t round_trip_mono_ns);

  bool known() const { return !exchanges_.empty(); }
  int64_t offset_ns() const { return best_.offset_ns; }  // collector's clock minus the node's
  uint64_t error_ns() const { return best_.error_ns; }   // half width; > 0 once known

 private:
  struct Exchange {
    int64_t offset_ns = 0;
    uint64_t error_ns = 0;
  };
  std::deque<Exchange> exchanges_;
  Exchange best_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_CLOCK_OFFSET_H_
