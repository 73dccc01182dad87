// Which windows must be computed again, each with the highest ingest number that touched it. The
// catalog has the truth (a mark is committed together with the ledger entry that made it); this is
// its image in memory, so that shard threads find due work without scanning. Owned by SummaryStore.
//
// Thread-safe. Marks of a node are changed only by the thread that owns it.

#ifndef TELLTALE_STORAGE_DIRTY_WINDOWS_H_
#define TELLTALE_STORAGE_DIRTY_WINDOWS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "storage/catalog.h"
#include "storage/keys.h"

namespace telltale::storage {

struct DirtyMark {
  DirtyKey key;
  uint64_t ingest_number = 0;
};

class DirtyWindows {
 public:
  absl::Status Load(Catalog* catalog);

  // The image of a committed mark; numbers ascend.
  void Mark(const DirtyKey& key, uint64_t ingest_number);
  // Whether the mark still has this number: only then may it be cleared.
  bool Unchanged(const DirtyMark& mark) const;
  void Clear(const DirtyMark& mark);

  // Marks of a node whose window (tier kRaw: hour) ended at or before `ended_by_ns`, finest tier
  // and oldest window first, at most `limit`. A coarser window is not due while one inside it is
  // dirty.
  std::vector<DirtyMark> Due(uint32_t node, uint64_t ended_by_ns, size_t limit) const;

  // Keys of a node, of all tiers, whose window overlaps [from, to).
  std::vector<DirtyKey> Of(uint32_t node, uint64_t from_ns, uint64_t to_ns) const;

  uint64_t size() const;

 private:
  mutable std::mutex mutex_;
  std::map<DirtyKey, uint64_t> marks_;  // guarded by mutex_
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_DIRTY_WINDOWS_H_
