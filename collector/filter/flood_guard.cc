#include "collector/filter/flood_guard.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "storage/keys.h"
#include "storage/placement.h"

namespace telltale::filter {
namespace {

constexpr uint64_t kFoundOfANode = 2, kSaidOfAnEpoch = 4, kDrawnOfAnEpoch = 64;
// A filter that begins runs over a day of the past, one that asks for more over up to six weeks of
// it (host_reply.cc), and an anomaly may begin a week before the epoch that shows it.
constexpr size_t kHours = 24 * (7 * 7 + 2);

}  // namespace

FloodGuard::Hour& FloodGuard::At(uint64_t time_ns) {
  uint64_t hour_ns = storage::FloorTo(time_ns, storage::kHourNs);
  // What is older than all that is kept counts as of the oldest: else it would not be counted.
  if (hours_.size() == kHours) hour_ns = std::max(hour_ns, hours_.begin()->first);
  Hour& hour = hours_[hour_ns];
  if (hours_.size() > kHours) hours_.erase(hours_.begin());
  return hour;
}

void FloodGuard::Show(uint64_t start_ns) {
  shown_ns_ = start_ns;
  ++At(start_ns).epochs;
}

bool FloodGuard::Find(uint64_t start_ns) {
  const uint64_t most = limits_.found + kFoundOfANode * nodes_;
  if (At(start_ns).found++ < most) return true;
  return End(absl::StrCat("more than ", most, " anomalies of one hour on ", nodes_, " nodes"));
}

bool FloodGuard::Say() {
  Hour& hour = At(shown_ns_);
  const uint64_t most = limits_.said + kSaidOfAnEpoch * hour.epochs;
  if (hour.said++ < most) return true;
  return End(absl::StrCat("more than ", most, " anomalies and marks, known ones too, in ",
                          hour.epochs, " epochs of one hour"));
}

bool FloodGuard::Draw() {
  Hour& hour = At(shown_ns_);
  const uint64_t most = limits_.drawn + kDrawnOfAnEpoch * hour.epochs;
  if (hour.drawn++ < most) return true;
  return End(absl::StrCat("more than ", most, " points in ", hour.epochs, " epochs of one hour"));
}

bool FloodGuard::End(const std::string& why) {
  code_->End(absl::FailedPreconditionError(absl::StrCat("flooded: ", why)));
  return false;
}

}  // namespace telltale::filter
