#include "collector/ingest/hybrid_clock.h"

#include <algorithm>

#include "sketch/time_units.h"

namespace telltale::ingest {
namespace {

constexpr int kCounterBits = 16;

}  // namespace

uint64_t HybridClock::WallStamp() const { return (clock_->UnixNs() / kNsPerMs) << kCounterBits; }

uint64_t HybridClock::Now() {
  const std::lock_guard<std::mutex> lock(mutex_);
  // A full counter carries into the milliseconds, which keeps the order.
  last_ = std::max(last_ + 1, WallStamp());
  return last_;
}

bool HybridClock::Merge(uint64_t stamp) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stamp > WallStamp() + (kMaxAheadMs << kCounterBits)) return false;
  last_ = std::max(last_, stamp);
  return true;
}

}  // namespace telltale::ingest
