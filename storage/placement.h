// Where in time the store puts a summary: on the collector's clock, by the offset the node measured
// against it (written in the immutable body, so every resend lands on the same key). Without a
// known offset the node's own clock is taken as it is. The length is the monotonic one.

#ifndef TELLTALE_STORAGE_PLACEMENT_H_
#define TELLTALE_STORAGE_PLACEMENT_H_

#include <cstdint>

#include "storage/keys.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::storage {

// [start_ns, end_ns) on the collector's clock, nanoseconds since 1970.
struct EpochSpan {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t watched_ns = 0;  // of it a sensor counted; <= end - start
  bool partial = false;

  uint64_t middle_ns() const { return start_ns + (end_ns - start_ns) / 2; }
};

EpochSpan PlaceEpoch(const v1::Epoch& epoch);

// The window of a tier an epoch belongs to: the one its middle lies in, because clocks put the
// start of an aligned epoch some milliseconds to either side of the boundary.
uint64_t WindowStart(Tier tier, const EpochSpan& span);
uint64_t FloorTo(uint64_t time_ns, uint64_t length_ns);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_PLACEMENT_H_
