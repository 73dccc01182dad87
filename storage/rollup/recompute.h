// What the rows of coarser tiers must say, worked out from what lies below them: series blocks and
// 5-minute windows from counted summaries, hours from 5-minute windows, days from hours, line
// blocks from windows. Only reads: the roller stores what comes out, verify compares it with what
// stands.
//
// Thread-safe; as old as the last commit the reader sees.

#ifndef TELLTALE_STORAGE_ROLLUP_RECOMPUTE_H_
#define TELLTALE_STORAGE_ROLLUP_RECOMPUTE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/history.h"
#include "storage/keys.h"
#include "storage/reader.h"
#include "storage/rollup/window_model.h"
#include "telltale/v1/store.pb.h"

namespace telltale::storage {

class Recompute {
 public:
  // Both outlive this.
  Recompute(const History* history, const Reader* reader) : history_(history), reader_(reader) {}

  // Nothing: there is nothing to sum up. What cannot be read is left out and marked in what comes
  // out; of a window that cannot be read what it was made of is taken, as far as it stands. Errors
  // as of Reader, and NotFound when no schema describes a summary.
  absl::StatusOr<std::optional<v1::SeriesBlock>> Series(uint32_t node,
                                                        uint64_t hour_start_ns) const;
  absl::StatusOr<std::optional<WindowRows>> Window(Tier tier, uint32_t node,
                                                   uint64_t start_ns) const;
  // By vital.
  absl::StatusOr<std::map<uint8_t, v1::LineBlock>> Lines(const DirtyLineKey& key) const;

 private:
  absl::StatusOr<WindowModel> ModelOf(const v1::RollupWindow& window,
                                      std::span<const std::pair<uint8_t, v1::RollupVital>> vitals,
                                      const ModelParts& parts) const;
  // In the place of a stored window that cannot be read.
  absl::Status AddDamaged(Tier tier, uint32_t node, uint64_t start_ns, uint64_t end_ns,
                          const ModelParts& parts, std::vector<WindowModel>* children) const;
  // The totals in a stored window's own row, or made again. Nothing: there is none, or
  // (`unreadable`) it cannot be read and not be made. `unreadable` also: some of it is missing.
  absl::StatusOr<std::optional<v1::RollupWindow>> StoredTotals(const RollupKey& key,
                                                               bool* unreadable) const;

  const History* const history_;
  const Reader* const reader_;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROLLUP_RECOMPUTE_H_
