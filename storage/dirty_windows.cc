#include "storage/dirty_windows.h"

#include <algorithm>

namespace telltale::storage {
namespace {

uint64_t LengthOf(Tier tier) { return tier == Tier::kRaw ? kHourNs : WindowNs(tier); }

}  // namespace

absl::Status DirtyWindows::Load(Catalog* catalog) {
  absl::Status bad;
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string prefix = TablePrefix(CatalogTable::kDirty);
  absl::Status scanned = catalog->Begin()->Scan(
      prefix, PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        absl::StatusOr<DirtyKey> decoded = DecodeDirtyKey(key);
        absl::StatusOr<uint64_t> number = DecodeU64(value);
        if (!decoded.ok() || !number.ok()) {
          bad = decoded.ok() ? number.status() : decoded.status();
          return false;
        }
        marks_[*decoded] = *number;
        return true;
      });
  return scanned.ok() ? bad : scanned;
}

void DirtyWindows::Mark(const DirtyKey& key, uint64_t ingest_number) {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t& number = marks_[key];
  number = std::max(number, ingest_number);
}

bool DirtyWindows::Unchanged(const DirtyMark& mark) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = marks_.find(mark.key);
  return it != marks_.end() && it->second == mark.ingest_number;
}

void DirtyWindows::Clear(const DirtyMark& mark) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = marks_.find(mark.key);
  if (it != marks_.end() && it->second == mark.ingest_number) marks_.erase(it);
}

std::vector<DirtyMark> DirtyWindows::Due(uint32_t node, uint64_t ended_by_ns, size_t limit) const {
  std::vector<DirtyMark> due;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto begin = marks_.lower_bound(DirtyKey{node, Tier::kRaw, 0});
  for (auto it = begin; it != marks_.end() && it->first.node == node && due.size() < limit; ++it) {
    const DirtyKey& key = it->first;
    const uint64_t end = key.window_start_ns + LengthOf(key.tier);
    if (end > ended_by_ns) continue;
    bool finer_dirty = false;
    if (key.tier == Tier::k1Hour || key.tier == Tier::k1Day) {
      const Tier finer = key.tier == Tier::k1Hour ? Tier::k5Min : Tier::k1Hour;
      const auto inside = marks_.lower_bound(DirtyKey{node, finer, key.window_start_ns});
      finer_dirty = inside != marks_.end() && inside->first.node == node &&
                    inside->first.tier == finer && inside->first.window_start_ns < end;
      if (!finer_dirty && key.tier == Tier::k1Day) {
        const auto five = marks_.lower_bound(DirtyKey{node, Tier::k5Min, key.window_start_ns});
        finer_dirty = five != marks_.end() && five->first.node == node &&
                      five->first.tier == Tier::k5Min && five->first.window_start_ns < end;
      }
    }
    if (!finer_dirty) due.push_back({key, it->second});
  }
  return due;
}

std::vector<DirtyKey> DirtyWindows::Of(uint32_t node, uint64_t from_ns, uint64_t to_ns) const {
  std::vector<DirtyKey> keys;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Tier tier : {Tier::kRaw, Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
    const uint64_t length = LengthOf(tier);
    const uint64_t first = from_ns > length ? from_ns - length + 1 : 0;
    for (auto it = marks_.lower_bound(DirtyKey{node, tier, first});
         it != marks_.end() && it->first.node == node && it->first.tier == tier &&
         it->first.window_start_ns < to_ns;
         ++it) {
      keys.push_back(it->first);
    }
  }
  return keys;
}

uint64_t DirtyWindows::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return marks_.size();
}

}  // namespace telltale::storage
