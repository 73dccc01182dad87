// What the spool must remember besides its records: sequences used, sequences held in memory only,
// ranges lost and not yet recorded by the collector. Value type plus its text form (FORMAT.md);
// owned by Spool.

#ifndef TELLTALE_AGENT_SPOOL_SPOOL_STATE_H_
#define TELLTALE_AGENT_SPOOL_SPOOL_STATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "telltale/v1/ingest.pb.h"

namespace telltale::agent {

struct TimeRange {
  uint64_t start_unix_ns = 0, end_unix_ns = 0;  // 0: unknown
};

struct SpoolState {
  static constexpr size_t kSlotBytes = 64 * 1024;
  static constexpr size_t kMaxHeld = 64;
  static constexpr size_t kMaxLost = 200;
  static constexpr size_t kMaxDetailBytes = 80;

  uint64_t generation = 0;
  uint64_t next = 1;
  std::map<uint64_t, TimeRange> held;
  std::vector<v1::Lost> lost;  // ascending, disjoint

  // Joins with a neighbour of the same reason; keeps the bounds.
  void AddLost(v1::Lost range);
  // Takes [first, last] out of the lost ranges.
  void RemoveLost(uint64_t first, uint64_t last);
  // The range that holds `sequence`, or nullptr.
  const v1::Lost* LostRangeOf(uint64_t sequence) const;

  // One slot: exactly kSlotBytes.
  std::string Encode() const;
  // DataLoss: damaged or never written.
  static absl::StatusOr<SpoolState> Decode(std::string_view slot);
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SPOOL_SPOOL_STATE_H_
