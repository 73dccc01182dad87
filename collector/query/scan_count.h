// How much one answer opens, and how much it may. Shared by all scans of that answer; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_SCAN_COUNT_H_
#define TELLTALE_COLLECTOR_QUERY_SCAN_COUNT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace telltale::query {

// Raw epochs and windows that one answer may open. A large fleet has so many a node: a question
// about all of it opens, of each, the windows of its time and the epochs at both ends.
struct ScanLimits {
  uint64_t epochs = 120'000;  // 1,000 nodes x 2 h of 60 s epochs
  uint64_t windows = 120'000;
  uint64_t epochs_a_node = 24;
  uint64_t windows_a_node = 120;
};

class ScanCount {
 public:
  // `nodes`: that the whole answer is about.
  ScanCount(const ScanLimits& limits, size_t nodes);

  // ResourceExhausted beyond the limit, with the remedy.
  absl::Status AddEpoch();
  absl::Status AddWindow();

 private:
  const uint64_t max_epochs_, max_windows_;
  std::atomic<uint64_t> epochs_ = 0, windows_ = 0;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_SCAN_COUNT_H_
