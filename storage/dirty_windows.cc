#include "storage/dirty_windows.h"

#include <algorithm>

namespace telltale::storage {
namespace {

// The tiers whose marks epochs make; coarser windows follow from these.
constexpr Tier kMarkedByDay[] = {Tier::kRaw, Tier::k5Min};

uint64_t LengthOf(Tier tier) { return tier == Tier::kRaw ? kHourNs : WindowNs(tier); }

const uint64_t kMarksOfADay = kDayNs / LengthOf(Tier::kRaw) + kDayNs / LengthOf(Tier::k5Min);

}  // namespace

absl::StatusOr<LostRows> DirtyWindows::Load(Catalog* catalog) {
  std::lock_guard<std::mutex> lock(mutex_);
  return ReadReadable(*catalog, TablePrefix(CatalogTable::kDirty), "marks of windows to compute",
                      "all windows of their nodes that epochs are kept of are computed again",
                      [&](std::string_view key, std::string_view value) {
                        absl::StatusOr<DirtyKey> decoded = DecodeDirtyKey(key);
                        if (!decoded.ok()) return absl::DataLossError(decoded.status().message());
                        // The key says all there is to do.
                        marks_[*decoded] = DecodeU64(value).value_or(0);
                        return absl::OkStatus();
                      });
}

void DirtyWindows::MarkDays(uint32_t node, uint16_t first, uint16_t last, uint64_t ingest_number) {
  if (last < first) return;
  std::lock_guard<std::mutex> lock(mutex_);
  days_[node] = {first, last, ingest_number};
}

bool DirtyWindows::ListDay(uint32_t node) {
  const auto days = days_.find(node);
  if (days == days_.end()) return false;
  const uint64_t day_ns = days->second.first * kDayNs;
  for (const Tier tier : kMarkedByDay) {
    for (uint64_t at = day_ns; at < day_ns + kDayNs; at += LengthOf(tier)) {
      marks_.try_emplace(DirtyKey{node, tier, at}, days->second.ingest_number);
    }
  }
  if (days->second.first++ == days->second.last) days_.erase(days);
  return true;
}

bool DirtyWindows::Unlisted(uint32_t node, uint64_t from_ns, uint64_t to_ns) const {
  const auto days = days_.find(node);
  return days != days_.end() && from_ns < (days->second.last + 1) * kDayNs &&
         to_ns > days->second.first * kDayNs;
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

bool DirtyWindows::IsFinerDirty(const DirtyKey& key, uint64_t end_ns) const {
  if (key.tier != Tier::k1Hour && key.tier != Tier::k1Day) return false;
  if (Unlisted(key.node, key.window_start_ns, end_ns)) return true;
  const auto any = [&](Tier tier) {
    const auto inside = marks_.lower_bound(DirtyKey{key.node, tier, key.window_start_ns});
    return inside != marks_.end() && inside->first.node == key.node && inside->first.tier == tier &&
           inside->first.window_start_ns < end_ns;
  };
  return any(Tier::k5Min) || (key.tier == Tier::k1Day && any(Tier::k1Hour));
}

void DirtyWindows::Collect(uint32_t node, const EndedBy& ended_by, size_t limit,
                           std::vector<DirtyMark>* due) const {
  due->clear();
  const auto begin = marks_.lower_bound(DirtyKey{node, Tier::kRaw, 0});
  for (auto it = begin; it != marks_.end() && it->first.node == node && due->size() < limit; ++it) {
    const uint64_t end_ns = it->first.window_start_ns + LengthOf(it->first.tier);
    const uint64_t due_ns = it->first.tier == Tier::k5Min ? ended_by.minutes_ns : ended_by.hours_ns;
    if (end_ns <= due_ns && !IsFinerDirty(it->first, end_ns)) {
      due->push_back({it->first, it->second});
    }
  }
}

std::vector<DirtyMark> DirtyWindows::Due(uint32_t node, const EndedBy& ended_by, size_t limit) {
  std::vector<DirtyMark> due;
  std::lock_guard<std::mutex> lock(mutex_);
  do {
    Collect(node, ended_by, limit, &due);
  } while (due.size() < limit && ListDay(node));
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
  const auto days = days_.find(node);
  if (days == days_.end()) return keys;
  for (const Tier tier : kMarkedByDay) {
    const uint64_t length = LengthOf(tier);
    const uint64_t end = std::min(to_ns, (days->second.last + 1) * kDayNs);
    uint64_t at = std::max(from_ns - from_ns % length, days->second.first * kDayNs);
    for (; at < end; at += length) {
      if (const DirtyKey key{node, tier, at}; !marks_.contains(key)) keys.push_back(key);
    }
  }
  return keys;
}

uint64_t DirtyWindows::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t unlisted = 0;
  for (const auto& [node, days] : days_) unlisted += days.last - days.first + 1u;
  return marks_.size() + unlisted * kMarksOfADay;
}

}  // namespace telltale::storage
