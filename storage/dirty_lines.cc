#include "storage/dirty_lines.h"

#include "storage/placement.h"

namespace telltale::storage {

absl::StatusOr<LostRows> DirtyLines::Load(Catalog* catalog) {
  std::lock_guard<std::mutex> lock(mutex_);
  return ReadReadable(*catalog, TablePrefix(CatalogTable::kDirtyLines),
                      "marks of graphs to compute",
                      "all blocks of fleet graphs that they may be of are built again",
                      [&](std::string_view key, std::string_view) {
                        absl::StatusOr<DirtyLineKey> decoded = DecodeDirtyLineKey(key);
                        if (!decoded.ok()) return absl::DataLossError(decoded.status().message());
                        marks_.insert(*decoded);
                        return absl::OkStatus();
                      });
}

void DirtyLines::Mark(const DirtyLineKey& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  marks_.insert(key);
}

void DirtyLines::Clear(const DirtyLineKey& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  marks_.erase(key);
}

std::vector<DirtyLineKey> DirtyLines::All() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return {marks_.begin(), marks_.end()};
}

std::vector<DirtyLineKey> DirtyLines::Of(Tier tier, uint64_t from_ns, uint64_t to_ns) const {
  std::vector<DirtyLineKey> keys;
  if (to_ns <= from_ns) return keys;
  std::lock_guard<std::mutex> lock(mutex_);
  const DirtyLineKey first{tier, FloorTo(from_ns, LineBucketNs(tier)), 0};
  for (auto it = marks_.lower_bound(first);
       it != marks_.end() && it->tier == tier && it->bucket_start_ns < to_ns; ++it) {
    keys.push_back(*it);
  }
  return keys;
}

}  // namespace telltale::storage
