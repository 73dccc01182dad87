#include "agent/governor/sample_demand.h"

#include <algorithm>
#include <cmath>

#include "agent/governor/parts.h"

namespace telltale::agent {
namespace {

constexpr double kDemandFadeS = 10;  // to 1/e
// For each one taken: more make no difference, and would take longer to be forgotten.
constexpr double kMostRefused = (1 << kTokenLevels) - 1;

}  // namespace

void SampleDemand::Learn(double passed_s, uint64_t taken, uint64_t refused) {
  const double kept = std::exp(-passed_s / kDemandFadeS);
  taken_ = kept * taken_ + static_cast<double>(taken);
  refused_ = kept * refused_ + static_cast<double>(refused);
  refused_ = std::min(refused_, kMostRefused * std::max(taken_, 1.0));
}

// The levels above the tokens' raise the least power of t: what that leaves out is not counted as
// refused.
double SampleDemand::Growth(uint8_t level) const {
  const uint8_t tokens = std::min(level, kTokenLevels);
  const double most = std::ldexp(1.0, tokens);
  const double wanted = refused_ <= 0 ? 1 : (taken_ + refused_) / std::max(taken_, 1.0);
  return std::ldexp(std::min(most, wanted), level - tokens);
}

}  // namespace telltale::agent
