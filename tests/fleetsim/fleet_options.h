// What a run is asked for: one struct, one table of options. Main thread.

#ifndef TELLTALE_TESTS_FLEETSIM_FLEET_OPTIONS_H_
#define TELLTALE_TESTS_FLEETSIM_FLEET_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "config/options.h"
#include "tests/fleetsim/redraw.h"

namespace telltale::fleetsim {

struct FleetOptions {
  std::string collector = "localhost:7410";
  std::string pki;
  std::string recordings;  // directories, separated by commas

  uint32_t nodes = 10, first = 1;
  uint32_t epoch_s = 60, epochs = 3, warmup = 1;
  uint32_t threads = 1, arrivals_per_s = 200;
  uint32_t connect_s = 300, drain_s = 90;
  uint64_t seed = 1;
  RedrawOptions redraw;

  uint32_t skew_s = 0;
  uint32_t churn_per_minute = 0, away_s = 10;
  uint32_t storm_at_s = 0, storms = 0;
  uint32_t slow_readers = 0, slow_s = 10, garbage = 0, oversize = 0, flood = 0;

  uint32_t collector_pid = 0;
  std::string disk;
  uint32_t verify = 0;
  std::string output = "table";  // or json; of the command line alone
};

// `options` outlives the table.
config::OptionTable TableOf(FleetOptions& options);

std::vector<std::string> NodeNames(const FleetOptions& options);

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_FLEET_OPTIONS_H_
