#include "storage/lost_marks.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "storage/placement.h"

namespace telltale::storage {
namespace {

bool MayBeOf(const LostRows& lost, uint32_t node) {
  if (!lost.keys.empty()) return true;  // of any
  return std::ranges::any_of(lost.ranges, [node](const DamagedRange& range) {
    const absl::StatusOr<DirtyKey> after = DecodeDirtyKey(range.after);
    const absl::StatusOr<DirtyKey> before = DecodeDirtyKey(range.before);
    return (!after.ok() || after->node <= node) && (!before.ok() || node <= before->node);
  });
}

bool MayBe(const LostRows& lost, const DirtyLineKey& line) {
  if (!lost.keys.empty()) return true;
  const std::string key = EncodeDirtyLineKey(line);
  return std::ranges::any_of(lost.ranges, [&key](const DamagedRange& range) {
    return key > range.after && (range.before.empty() || key < range.before);
  });
}

// Start of the first stored window of a tier that can be read; 0: there is none.
absl::StatusOr<uint64_t> FirstWindow(const History& history, Tier tier) {
  uint64_t first = 0;
  const std::string begin = RollupBucketPrefix(tier, 0);
  const absl::Status scanned = history.ScanOver(
      Family::kRollup, begin, PrefixEnd(std::string_view(begin).substr(0, 1)),
      [&first](std::string_view bytes, std::string_view) {
        const absl::StatusOr<RollupKey> key = DecodeRollupKey(bytes);
        if (key.ok()) first = key->window_start_ns;
        return first == 0;
      },
      [](const DamagedRange&) {});
  if (!scanned.ok()) return scanned;
  return first;
}

}  // namespace

void MarkLostWindows(const LostRows& lost, const NodeRegistry& registry, uint16_t raw_floor,
                     uint64_t ingest_number, DirtyWindows* dirty) {
  if (!lost.any()) return;
  for (const NodeRecord& record : registry.List()) {
    if (record.last_epoch_ns() == 0 || !MayBeOf(lost, record.number())) continue;
    dirty->MarkDays(record.number(), std::max(raw_floor, DayOf(record.first_epoch_ns())),
                    DayOf(record.last_epoch_ns()), ingest_number);
  }
}

absl::Status MarkLostLines(const LostRows& lost, const NodeRegistry& registry,
                           const History& history, uint64_t now_ns, DirtyLines* lines) {
  if (!lost.any()) return absl::OkStatus();
  const auto last_group = static_cast<uint32_t>(registry.size() / kLineGroupNodes);
  for (const Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
    const absl::StatusOr<uint64_t> first = FirstWindow(history, tier);
    if (!first.ok()) return first.status();
    if (*first == 0) continue;
    const uint64_t length = LineBucketNs(tier);
    for (uint64_t bucket = FloorTo(*first, length); bucket <= now_ns; bucket += length) {
      for (uint32_t group = 0; group <= last_group; ++group) {
        if (const DirtyLineKey line{tier, bucket, group}; MayBe(lost, line)) lines->Mark(line);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace telltale::storage
