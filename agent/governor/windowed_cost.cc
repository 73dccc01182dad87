#include "agent/governor/windowed_cost.h"

#include <algorithm>
#include <cmath>

namespace telltale::agent {

double WindowedCost::Tell(double ns, double passed_s, uint8_t level, double period_s) {
  if (level != level_) {
    // It goes on as it was until windows tell otherwise; and what windows took and was not charged
    // yet was taken at their level.
    if (level_ == 0) spread_.Add(lately_ns_per_s_ * period_s);
    if (level == 0) spread_.Scale(std::ldexp(1.0, -level_));
    level_ = level;
  }
  if (level > 0) {
    spread_.Add(ns);
    return spread_.Tell(passed_s, period_s);
  }
  lately_ns_per_s_ += std::min(1.0, passed_s) * (ns / std::max(passed_s, 1e-6) - lately_ns_per_s_);
  return ns + spread_.Tell(passed_s, period_s);
}

}  // namespace telltale::agent
