#include "collector/query/scan_count.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace telltale::query {
namespace {

absl::Status Add(std::atomic<uint64_t>& count, uint64_t limit, const char* what) {
  if (count.fetch_add(1, std::memory_order_relaxed) < limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("query: more than ", limit, " ", what,
                   " in the selection; narrow the time or the nodes, or ask a coarser tier "
                   "(--tier 5m, 1h or 1d)"));
}

}  // namespace

ScanCount::ScanCount(const ScanLimits& limits, size_t nodes)
    : max_epochs_(std::max<uint64_t>(limits.epochs, limits.epochs_a_node * nodes)),
      max_windows_(std::max<uint64_t>(limits.windows, limits.windows_a_node * nodes)) {}

absl::Status ScanCount::AddEpoch() { return Add(epochs_, max_epochs_, "epochs"); }

absl::Status ScanCount::AddWindow() { return Add(windows_, max_windows_, "windows"); }

}  // namespace telltale::query
