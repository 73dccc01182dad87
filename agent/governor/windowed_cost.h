// What a part costs whose programs are on their hooks for one window in each period: all of it in
// the window, nothing between. Charged evenly, else each window looks like a storm of its own, and
// the part is turned down until its windows are too short to be noticed.
//
// A value, pure: no clock. Owned by the sensor, its thread only.

#ifndef TELLTALE_AGENT_GOVERNOR_WINDOWED_COST_H_
#define TELLTALE_AGENT_GOVERNOR_WINDOWED_COST_H_

#include <cstdint>

#include "agent/governor/spread_cost.h"

namespace telltale::agent {

class WindowedCost {
 public:
  // `ns`: what the last `passed_s` seconds would have cost at level 0, by what was seen. At level 0
  // that is what they did cost, at level k there is a window of 1/2^k of each period, in which each
  // event stands for 2^k. Returns what to charge them with, at level 0.
  double Tell(double ns, double passed_s, uint8_t level, double period_s);

 private:
  SpreadCost spread_;
  uint8_t level_ = 0;
  double lately_ns_per_s_ = 0;  // at level 0
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_GOVERNOR_WINDOWED_COST_H_
