#include "collector/ingest/epoch_order.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace telltale::ingest {
namespace {

std::string Utc(uint64_t unix_ns) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC",
                          absl::FromUnixSeconds(static_cast<int64_t>(unix_ns / 1'000'000'000)),
                          absl::UTCTimeZone());
}

}  // namespace

std::vector<EpochOddity> EpochOrder::Add(const storage::Incarnation& incarnation, uint64_t sequence,
                                         const v1::Epoch& epoch) {
  End fresh = {.incarnation = incarnation,
               .sequence = sequence,
               .span = storage::PlaceEpoch(epoch),
               .offset_ns = epoch.clock_offset_ns(),
               .error_ns = epoch.clock_error_ns()};
  fresh.before = sequence == 1;
  std::vector<EpochOddity> found;
  for (End& known : ends_) {
    if (known.incarnation != incarnation) continue;
    if (known.sequence + 1 == sequence) {
      Compare(known, fresh, found);
      known.after = fresh.before = true;
    } else if (known.sequence == sequence + 1) {
      Compare(fresh, known, found);
      known.before = fresh.after = true;
    }
  }
  std::erase_if(ends_, [](const End& end) { return end.before && end.after; });
  if (fresh.before && fresh.after) return found;
  if (ends_.size() >= kMostEnds) ends_.erase(ends_.begin());
  ends_.push_back(fresh);
  return found;
}

void EpochOrder::Compare(const End& first, const End& second, std::vector<EpochOddity>& found) {
  const double errors_ns =
      static_cast<double>(first.error_ns) + static_cast<double>(second.error_ns);
  const double overlap_ns =
      static_cast<double>(first.span.end_ns) - static_cast<double>(second.span.start_ns);
  if (overlap_ns > kOverlapNs + errors_ns) {
    found.push_back(
        {v1::REMARK_KIND_OVERLAP,
         absl::StrFormat("epoch %d begins %.1f s before epoch %d ended at %s: the node's clock was "
                         "set back or found to be ahead, both stand in that time",
                         second.sequence, overlap_ns / 1e9, first.sequence,
                         Utc(first.span.end_ns))});
  }
  if (first.error_ns == 0 || second.error_ns == 0) return;
  const double step_ns =
      static_cast<double>(first.offset_ns) - static_cast<double>(second.offset_ns);
  if (std::abs(step_ns) > kStepNs + errors_ns) {
    found.push_back({v1::REMARK_KIND_CLOCK_STEP,
                     absl::StrFormat("by %.1f s %s against the collector's between epochs %d and "
                                     "%d, at %s",
                                     std::abs(step_ns) / 1e9, step_ns > 0 ? "forward" : "back",
                                     first.sequence, second.sequence, Utc(second.span.start_ns))});
  }
}

}  // namespace telltale::ingest
