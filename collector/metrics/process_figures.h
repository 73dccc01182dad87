// The collector's own process as /proc shows it.

#ifndef TELLTALE_COLLECTOR_METRICS_PROCESS_FIGURES_H_
#define TELLTALE_COLLECTOR_METRICS_PROCESS_FIGURES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace telltale::metrics {

struct ProcessFigures {
  uint64_t cpu_ticks = 0;  // user and system, in ticks_per_second
  uint64_t ticks_per_second = 100;
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t open_files = 0;
  uint64_t max_files = 0;
  double start_s = 0;  // since 1970
};

// Reads stat and fd of `dir` ("/proc/self"). NotFound or DataLoss name the file.
absl::StatusOr<ProcessFigures> ReadProcess(const std::string& dir);

}  // namespace telltale::metrics

#endif  // TELLTALE_COLLECTOR_METRICS_PROCESS_FIGURES_H_
