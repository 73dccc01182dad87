// Which windows must be computed again, each with the highest ingest number that touched it. The
// catalog has the truth (a mark is committed together with the ledger entry that made it); this is
// its image in memory, so that shard threads find due work without scanning. Owned by SummaryStore.
//
// Of a node whose marks cannot all be read every window that may have one counts as marked, by the
// day: its marks are listed a day at a time, as they come to be due.
//
// Thread-safe. Marks of a node are changed only by the thread that owns it.

#ifndef TELLTALE_STORAGE_DIRTY_WINDOWS_H_
#define TELLTALE_STORAGE_DIRTY_WINDOWS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "storage/catalog_damage.h"
#include "storage/keys.h"

namespace telltale::storage {

struct DirtyMark {
  DirtyKey key;
  uint64_t ingest_number = 0;
};

class DirtyWindows {
 public:
  // What it says cannot be read of the marks: MarkDays of the nodes they may be of.
  absl::StatusOr<LostRows> Load(Catalog* catalog);
  // All series blocks and windows of 5 minutes of these days count as marked: [first, last].
  void MarkDays(uint32_t node, uint16_t first, uint16_t last, uint64_t ingest_number);

  // The image of a committed mark; numbers ascend.
  void Mark(const DirtyKey& key, uint64_t ingest_number);
  // Whether the mark still has this number: only then may it be cleared.
  bool Unchanged(const DirtyMark& mark) const;
  void Clear(const DirtyMark& mark);

  // By when a window must have ended to be due.
  struct EndedBy {
    uint64_t minutes_ns = 0;  // windows of 5 min
    uint64_t hours_ns = 0;    // longer ones, and series blocks (tier kRaw)
  };
  // Marks of a node whose windows are due, finest tier and oldest window first, at most `limit`. A
  // coarser window is not due while one inside it is dirty.
  std::vector<DirtyMark> Due(uint32_t node, const EndedBy& ended_by, size_t limit);

  // Keys of a node, of all tiers, whose window overlaps [from, to).
  std::vector<DirtyKey> Of(uint32_t node, uint64_t from_ns, uint64_t to_ns) const;

  uint64_t size() const;

 private:
  struct Days {
    uint16_t first = 0, last = 0;
    uint64_t ingest_number = 0;
  };
  // All with mutex_.
  void Collect(uint32_t node, const EndedBy& ended_by, size_t limit,
               std::vector<DirtyMark>* due) const;
  bool IsFinerDirty(const DirtyKey& key, uint64_t end_ns) const;
  // Lists the marks of the first day of the node that are not; false: there is none.
  bool ListDay(uint32_t node);
  bool Unlisted(uint32_t node, uint64_t from_ns, uint64_t to_ns) const;

  mutable std::mutex mutex_;
  std::map<DirtyKey, uint64_t> marks_;  // guarded by mutex_
  std::map<uint32_t, Days> days_;       // by node, whose marks are not in marks_; guarded by mutex_
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_DIRTY_WINDOWS_H_
