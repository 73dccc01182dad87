// One run from the first connection to the last ack: makes the nodes, waits until they are
// connected, cuts epochs, measures, checks. Main thread.

#ifndef TELLTALE_TESTS_FLEETSIM_FLEET_H_
#define TELLTALE_TESTS_FLEETSIM_FLEET_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "tests/fleetsim/fleet_options.h"
#include "tests/fleetsim/report.h"

namespace telltale::fleetsim {

// What may be asked of a run from outside.
struct Requests {
  std::function<bool()> stop;                   // end early
  std::function<bool()> storm;                  // one more; true once for each that is wanted
  std::function<void(const std::string&)> say;  // how it goes, one line
};

// Errors: what could not be set up. What went wrong later is in the figures.
absl::StatusOr<RunFigures> RunFleet(const FleetOptions& options, const Requests& requests);

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_FLEET_H_
