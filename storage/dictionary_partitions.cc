// Which partitions of names there are, also where a damaged block hides their beginning, and how
// they go.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "storage/dictionary.h"

namespace telltale::storage {
namespace {

constexpr char kNamesBegin[] = "\x04";
// Partitions between two of a tier that may be there although their beginning cannot be read.
constexpr uint32_t kMostHidden = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<Dictionary>> Dictionary::Open(History* history,
                                                             const NameMemory& memory) {
  std::unique_ptr<Dictionary> dictionary(new Dictionary(history, memory));
  const std::string end = PrefixEnd(kNamesBegin);
  std::string from = kNamesBegin;
  std::optional<NamePartition> before;
  while (true) {
    bool whole = true;
    std::optional<NamePartition> found;
    const auto leave_out = [&](uint64_t rows) {
      whole = false;
      dictionary->CountUnreadable(rows);
      return true;
    };
    absl::Status scanned = history->ScanOver(
        Family::kDict, from, end,
        [&](std::string_view key, std::string_view) {
          absl::StatusOr<NameOrigin> origin = DecodeNameKey(key);
          if (!origin.ok()) return leave_out(1);
          found = origin->partition;
          return false;
        },
        [&](const DamagedRange& range) { leave_out(range.rows); });
    if (!scanned.ok()) return scanned;
    if (!whole) dictionary->AddHidden(before, found);
    if (!found.has_value()) return dictionary;
    dictionary->partitions_.insert(*found);
    from = PrefixEnd(NamePartitionPrefix(*found));
    before = found;
  }
}

void Dictionary::AddHidden(std::optional<NamePartition> before,
                           std::optional<NamePartition> behind) {
  if (before.has_value() && behind.has_value() && before->tier == behind->tier) {
    const uint32_t last = std::min<uint32_t>(behind->bucket, before->bucket + kMostHidden);
    for (uint32_t bucket = before->bucket + 1u; bucket < last; ++bucket) {
      partitions_.insert({before->tier, static_cast<uint16_t>(bucket)});
    }
    return;
  }
  if (before.has_value() && before->bucket < UINT16_MAX) {
    partitions_.insert({before->tier, static_cast<uint16_t>(before->bucket + 1)});
  }
  if (behind.has_value() && behind->bucket > 0) {
    partitions_.insert({behind->tier, static_cast<uint16_t>(behind->bucket - 1)});
  }
}

std::set<NamePartition> Dictionary::partitions() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return partitions_;
}

absl::StatusOr<uint32_t> Dictionary::DropBefore(Tier tier, uint64_t time_ns) {
  std::vector<NamePartition> due;  // ascending
  for (const NamePartition& partition : partitions()) {
    const uint64_t needed_ns = NamePartitionEndNs(partition) + (tier == Tier::kRaw ? kServesNs : 0);
    if (partition.tier == tier && needed_ns <= time_ns) due.push_back(partition);
  }
  if (due.empty()) return 0;
  // From where the tier begins: an older one whose rows could not be read is not known of.
  absl::Status gone = history_->DropRange(Family::kDict, NameTierPrefix(tier),
                                          PrefixEnd(NamePartitionPrefix(due.back())));
  if (!gone.ok()) return gone;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const NamePartition& partition : due) partitions_.erase(partition);
  standing_.Clear();
  return static_cast<uint32_t>(due.size());
}

}  // namespace telltale::storage
