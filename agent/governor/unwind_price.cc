#include "agent/governor/unwind_price.h"

#include <cmath>

#include "agent/governor/governor.h"

namespace telltale::agent {
namespace {

constexpr double kFadeS = 15;  // to 1/e
// A stack of 33 frames at 300 ns: caches of a processor that did something else meanwhile
// (tests/bench/SENSOR.md).
constexpr double kWarmNs = 10'000;
// As many stacks as that counts for.
constexpr double kWarmStacks = 20;

}  // namespace

void UnwindPrice::Learn(double passed_s, uint64_t unwind_ns, uint64_t unwound, uint8_t level) {
  const double kept = std::exp(-passed_s / kFadeS);
  unwind_ns_ *= kept;
  unwound_ *= kept;
  const double share = Governor::Cost(Part::kUnwinding, level, 1);
  if (share <= 0) return;
  unwind_ns_ += static_cast<double>(unwind_ns) / share;
  unwound_ += static_cast<double>(unwound);
}

double UnwindPrice::ns() const {
  return (unwind_ns_ + kWarmStacks * kWarmNs) / (unwound_ + kWarmStacks);
}

}  // namespace telltale::agent
