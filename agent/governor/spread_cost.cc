#include "agent/governor/spread_cost.h"

#include <cmath>

namespace telltale::agent {

double SpreadCost::Tell(double passed_s, double over_s) {
  const double told = untold_ns_ * -std::expm1(-passed_s / over_s);
  untold_ns_ -= told;
  return told;
}

}  // namespace telltale::agent
