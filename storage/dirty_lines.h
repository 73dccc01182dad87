// Which blocks of fleet graphs must be built again. The catalog has the truth; this is its image in
// memory, so that answers and the maintenance find them without scanning. Owned by SummaryStore.
//
// Thread-safe.

#ifndef TELLTALE_STORAGE_DIRTY_LINES_H_
#define TELLTALE_STORAGE_DIRTY_LINES_H_

#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "storage/catalog_damage.h"
#include "storage/keys.h"

namespace telltale::storage {

class DirtyLines {
 public:
  // What it says cannot be read of the marks: Mark those they may have been.
  absl::StatusOr<LostRows> Load(Catalog* catalog);

  // The image of a committed mark.
  void Mark(const DirtyLineKey& key);
  void Clear(const DirtyLineKey& key);

  std::vector<DirtyLineKey> All() const;  // ascending by key
  // Whose bucket overlaps [from, to).
  std::vector<DirtyLineKey> Of(Tier tier, uint64_t from_ns, uint64_t to_ns) const;

 private:
  mutable std::mutex mutex_;
  std::set<DirtyLineKey> marks_;  // guarded by mutex_
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_DIRTY_LINES_H_
