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
#include <set>
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
  // The windows of a fleet end together, and to compute them all at once takes more CPU than its
  // epochs do. So those of each node wait so much longer than those of the one numbered before it,
  // those of 10,000 nodes 3 minutes; then it begins anew. Until then queries read what lies below
  // them; an answer that asked for their tier alone says how many it lacks.
  uint64_t apart_ns = 18'000'000;
  uint64_t most_apart_ns = 180 * kSecondNs;
  // What ends with an hour (series blocks, windows of hours and days) waits so many times longer:
  // for each node 60 epochs are opened again.
  uint32_t hours_apart = 10;
  // A window that could not be computed is tried again after so long: what it lacks may never come,
  // and trying each second would keep the thread of a shard busy.
  uint64_t retry_ns = 300 * kSecondNs;
  // Once a call of RunDue has computed for so long it stores what it has and leaves the rest due:
  // whoever calls it has other work that waits, and windows of an hour or a day take many times
  // what those of 5 minutes do. 0: no such end.
  uint64_t turn_ns = 0;
};

class Roller {
 public:
  // All outlive this.
  Roller(RollerOptions options, History* history, Catalog* catalog, const Reader* reader,
         const SummaryStore* summaries, Dictionary* dictionary);

  // Recomputes at most `max_windows` due windows of these nodes, at least one, fewer where
  // `turn_ns` ends it; returns how many were done, 0: nothing is due. What cannot be read is left
  // out of a window, which says so. A window that cannot be computed (NotFound: no schema describes
  // a summary) keeps its mark and waits for `retry_ns`; the others are made all the same, then its
  // error is returned. Errors as of PutBatch end the call at once; the next one tries again. One
  // whose raw epochs have expired meanwhile stays as it is, and is done. `expired`, if given, is
  // raised by how many of 5 minutes were, also in a call that has an error: what came for them
  // since they were computed, all of it if they never were, is in no tier any more.
  absl::StatusOr<uint32_t> RunDue(std::span<const uint32_t> nodes, uint64_t now_ns,
                                  uint32_t max_windows, uint64_t* expired = nullptr);

  // Rebuilds at most `max_blocks` groups of fleet-graph blocks whose windows changed: those of
  // buckets whose windows could all be there at once, the others once one more of every node could
  // be. Returns how many.
  absl::StatusOr<uint32_t> RunLines(uint64_t now_ns, uint32_t max_blocks);

 private:
  // At most so many marks to work on now: those that have not failed before those that have, so
  // that many damaged windows keep none behind them waiting.
  std::vector<DirtyMark> NextDue(std::span<const uint32_t> nodes, uint64_t now_ns,
                                 size_t limit) const;
  // How long after its end a window of this tier waits, of this node.
  uint64_t WaitsNs(Tier tier, uint32_t node) const;
  uint64_t MostApartNs(Tier tier) const;
  // How many windows of a node could not be computed; failed_mutex_ is held.
  size_t FailedOf(uint32_t node) const;
  void NoteFailed(const DirtyKey& key, uint64_t now_ns);
  void NoteComputed(const DirtyKey& key);
  // Whether some of what it would be computed from has expired: it stays as it is.
  bool IsSealed(const DirtyKey& key) const;
  // The rows of a window or series block that is not sealed, with the names they need kept.
  absl::StatusOr<std::vector<Row>> Compute(const DirtyMark& mark) const;
  absl::Status Commit(const std::vector<DirtyMark>& done);
  // How long after its end a window of this tier waits, of the last of a group's nodes.
  uint64_t GroupWaitsNs(Tier tier, uint32_t group) const;
  // When the latest window that all nodes of the block could have by now was there of the last of
  // them.
  uint64_t AllThereNs(const DirtyLineKey& key, uint64_t now_ns) const;
  // Whether all windows of the block are over and could be there.
  bool IsOver(const DirtyLineKey& key, uint64_t now_ns) const;

  const RollerOptions options_;
  History* const history_;
  Catalog* const catalog_;
  const Recompute recompute_;
  const SummaryStore* const summaries_;
  Dictionary* const dictionary_;

  mutable std::mutex failed_mutex_;
  // When a window could not be computed the last time. Guarded by failed_mutex_.
  std::map<DirtyKey, uint64_t> failed_ns_;

  // Line marks are set by shard threads and cleared by the maintenance thread: one commit at a
  // time.
  std::mutex line_mutex_;
  // Marked since RunLines began, so their blocks may lack rows. The number of a mark does not tell:
  // all windows of a batch have the same. Guarded by line_mutex_.
  std::set<DirtyLineKey> marked_lines_;
  std::map<DirtyLineKey, uint64_t>
      built_ns_;  // when a block of an open bucket was built; maintenance only
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROLLUP_ROLLER_H_
