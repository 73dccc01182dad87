// The collector's hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014): stamps
// that follow wall time and still order what happened after what. A stamp is milliseconds since
// 1970 << 16 | counter. One per process; thread-safe.

#ifndef TELLTALE_COLLECTOR_INGEST_HYBRID_CLOCK_H_
#define TELLTALE_COLLECTOR_INGEST_HYBRID_CLOCK_H_

#include <cstdint>
#include <mutex>

#include "collector/ingest/clock.h"

namespace telltale::ingest {

class HybridClock {
 public:
  // A stamp further ahead of our wall clock than this is not believed: one node's wrong clock must
  // not drag everybody's stamps along.
  static constexpr uint64_t kMaxAheadMs = 2000;

  explicit HybridClock(const Clock* clock) : clock_(clock) {}

  // A stamp greater than every one given or merged before.
  uint64_t Now();

  // Later stamps will be greater than `stamp`. False, and nothing changes: it is too far ahead.
  bool Merge(uint64_t stamp);

 private:
  uint64_t WallStamp() const;

  const Clock* const clock_;
  std::mutex mutex_;
  uint64_t last_ = 0;  // guarded by mutex_
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_HYBRID_CLOCK_H_
