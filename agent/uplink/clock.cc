#include "agent/uplink/clock.h"

#include "agent/clock_ns.h"

namespace telltale::agent {

uint64_t SystemClock::WallNs() const { return ClockNs(CLOCK_REALTIME); }
uint64_t SystemClock::MonoNs() const { return ClockNs(CLOCK_MONOTONIC); }

ClockPair ReadTogether(const Clock& clock) {
  constexpr int kTries = 8;
  constexpr uint64_t kMomentNs = 100'000;
  ClockPair best;
  uint64_t best_took = UINT64_MAX;
  for (int i = 0; i < kTries && best_took > kMomentNs; ++i) {
    const uint64_t before = clock.MonoNs();
    const uint64_t wall = clock.WallNs();
    const uint64_t took = clock.MonoNs() - before;
    if (took >= best_took) continue;
    best_took = took;
    best = {wall, before};
  }
  return best;
}

}  // namespace telltale::agent
