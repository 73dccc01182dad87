// How often what is done again and again may be, so that it takes no more than its share of the
// processors' time. What it takes grows with the host's tasks, so it is measured each time: dearer
// than before counts at once, cheaper little by little.
//
// Pure. One thread.

#ifndef TELLTALE_AGENT_SENSOR_COST_PACE_H_
#define TELLTALE_AGENT_SENSOR_COST_PACE_H_

#include <algorithm>

#include "sketch/time_units.h"

namespace telltale::agent {

class CostPace {
 public:
  // `share`: CPU seconds a second, 0: as often as `least_s` allows. Seconds from one to the next.
  CostPace(double share, double least_s, double most_s)
      : share_(share), least_s_(least_s), most_s_(most_s) {}

  // It was done once more, and took so much CPU time.
  void Took(double cpu_ns) {
    cost_s_ = std::max(cpu_ns / kNsPerS, kKept * cost_s_ + (1 - kKept) * cpu_ns / kNsPerS);
  }
  double interval_s() const {
    return share_ > 0 ? std::clamp(cost_s_ / share_, least_s_, most_s_) : least_s_;
  }

 private:
  static constexpr double kKept = 0.8;
  double share_, least_s_, most_s_;
  double cost_s_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_COST_PACE_H_
