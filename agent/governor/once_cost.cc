#include "agent/governor/once_cost.h"

#include <cmath>

namespace telltale::agent {

double OnceCost::Tell(double passed_s) {
  const double told = untold_ns_ * -std::expm1(-passed_s / kFadeS);
  untold_ns_ -= told;
  return told;
}

}  // namespace telltale::agent
