// What a run found, as a table for people and as JSON. Values; main thread.

#ifndef TELLTALE_TESTS_FLEETSIM_REPORT_H_
#define TELLTALE_TESTS_FLEETSIM_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/fleetsim/machine.h"
#include "tests/fleetsim/tally.h"
#include "tests/fleetsim/verify.h"

namespace telltale::fleetsim {

struct RunFigures {
  uint64_t nodes = 0, connected_most = 0;
  double connect_s = 0;  // until all were connected
  bool drained = false;
  uint32_t epoch_s = 0, epochs = 0;
  double recorded_bytes = 0;  // mean of an epoch as recorded
  bool synthetic = false, stretched = false;
  uint64_t other_builds = 0;  // nodes
  Tally tally;
  std::map<std::string, uint64_t> problems;
  bool collector_known = false;
  CpuUse cpu;          // measured time
  CpuUse connect_cpu;  // while they connected
  Resident collector, own;
  std::vector<uint32_t> fsync_us;
  std::optional<Verification> verification;
};

// `figures` is sorted on the way.
std::string TableText(RunFigures& figures);
std::string JsonText(RunFigures& figures);

// No more than this share of the machine may both sides have used for latencies to be claimed:
// beyond it they wait for each other.
inline constexpr double kMostShare = 0.8;

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_REPORT_H_
