#include "storage/placement.h"

#include <algorithm>

namespace telltale::storage {

EpochSpan PlaceEpoch(const v1::Epoch& epoch) {
  EpochSpan span;
  const int64_t offset = epoch.clock_error_ns() != 0 ? epoch.clock_offset_ns() : 0;
  const uint64_t start = epoch.start_unix_ns();
  if (offset >= 0) {
    const uint64_t forward = static_cast<uint64_t>(offset);
    span.start_ns = start > UINT64_MAX - forward ? UINT64_MAX : start + forward;
  } else {
    const uint64_t back = ~static_cast<uint64_t>(offset) + 1;
    span.start_ns = start > back ? start - back : 0;
  }
  const uint64_t length =
      epoch.end_mono_ns() > epoch.start_mono_ns() ? epoch.end_mono_ns() - epoch.start_mono_ns() : 0;
  span.start_ns = std::min(span.start_ns, UINT64_MAX - length);
  span.end_ns = span.start_ns + length;
  span.watched_ns = std::min(epoch.watched_ns(), length);
  span.partial = epoch.kind() == v1::EPOCH_KIND_PARTIAL;
  return span;
}

uint64_t FloorTo(uint64_t time_ns, uint64_t length_ns) { return time_ns - time_ns % length_ns; }

uint64_t WindowStart(Tier tier, const EpochSpan& span) {
  return FloorTo(span.middle_ns(), WindowNs(tier));
}

}  // namespace telltale::storage
