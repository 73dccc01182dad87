// Asks the agents of followed nodes for their seconds, again and again while somebody follows:
// an agent stops by itself a minute after it was last asked.
//
// One thread. The core outlives it.

#ifndef TELLTALE_COLLECTOR_INGEST_LIVE_RENEWAL_H_
#define TELLTALE_COLLECTOR_INGEST_LIVE_RENEWAL_H_

#include <cstdint>
#include <map>
#include <string>

#include "collector/ingest/ingest_core.h"

namespace telltale::ingest {

class LiveRenewal {
 public:
  static constexpr uint64_t kEveryNs = 10'000'000'000;  // also until a node is tried again

  explicit LiveRenewal(IngestCore* core) : core_(core) {}

  // About every second: who has come to follow waits no longer than that. CLOCK_MONOTONIC.
  void Tick(uint64_t mono_ns);

 private:
  void Ask(const std::string& node);

  IngestCore* const core_;
  std::map<std::string, uint64_t> asked_ns_;  // of the nodes followed at the last tick
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_LIVE_RENEWAL_H_
