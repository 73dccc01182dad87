// Brings coarser tiers up to date: recomputes dirty windows of nodes from what lies below them
// (series hours and 5-minute windows from raw, hours from 5-minute windows, days from hours), so
// that any order of arrival gives the same bytes. RunDue is called by the shard thread that owns
// the nodes, when it has nothing more urgent to do; RunLines by the one maintenance thread. Rows
// are durable before a mark is cleared.

#ifndef TELLTALE_STORAGE_ROLLUP_ROLLER_H_
#define TELLTALE_STORAGE_ROLLUP_ROLLER_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "storage/dictionary.h"
#include "storage/dirty_windows.h"
#include "storage/history.h"
#include "storage/keys.h"
#include "storage/reader.h"
#include "storage/rollup/recompute.h"
#include "storage/rollup/window_model.h"
#include "storage/summary_store.h"

namespace telltale::storage {

struct RollerOptions {
  // After its end a window waits this long for summaries on their way, then is computed; later ones
  // make it dirty again. Covers the spread of sending.
  uint64_t settle_ns = 60 * kSecondNs;
};

class Roller {
 public:
  // All outlive this.
  Roller(RollerOptions options, History* history, Catalog* catalog, const Reader* reader,
         const SummaryStore* summaries, Dictionary* dictionary);

  // Recomputes at most `max_windows` due windows of these nodes; returns how many were done, 0:
  // nothing is due. Errors as of PutBatch, and NotFound when no schema describes a summary; the
  // marks stay, so the next call tries again.
  absl::StatusOr<uint32_t> RunDue(std::span<const uint32_t> nodes, uint64_t now_ns,
                                  uint32_t max_windows);

  // Rebuilds at most `max_blocks` groups of fleet-graph blocks whose windows changed: those of
  // buckets that are over at once, those of open ones when a window more could be there. Returns
  // how many.
  absl::StatusOr<uint32_t> RunLines(uint64_t now_ns, uint32_t max_blocks);

 private:
  // The rows of a window or series block, with the names they need kept.
  absl::StatusOr<std::vector<Row>> Compute(const DirtyMark& mark) const;
  absl::Status Commit(const std::vector<DirtyMark>& done);

  const RollerOptions options_;
  History* const history_;
  Catalog* const catalog_;
  const Recompute recompute_;
  const SummaryStore* const summaries_;
  Dictionary* const dictionary_;

  // Line marks are set by shard threads and cleared by the maintenance thread: one commit at a
  // time.
  std::mutex line_mutex_;
  std::map<DirtyLineKey, uint64_t>
      built_ns_;  // when a block of an open bucket was built; maintenance only
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROLLUP_ROLLER_H_
