#include "storage/dictionary.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

constexpr size_t kSlots = size_t{1} << 19;  // 4 MiB for each of the two memories
constexpr char kNamesBegin[] = "\x04";

uint64_t LocationDigest(std::string_view build_id, uint64_t offset) {
  return XXH3_64bits_withSeed(build_id.data(), build_id.size(), offset);
}
uint64_t Mix(uint64_t digest, uint64_t with) {
  return XXH3_64bits_withSeed(&with, sizeof with, digest) | 1;  // never 0, an empty slot
}

// nullopt: no such row.
absl::StatusOr<std::optional<std::string>> GetIfAny(const History& history, std::string_view key) {
  absl::StatusOr<std::string> value = history.Get(Family::kDict, key);
  if (value.ok()) return std::optional<std::string>(*std::move(value));
  if (absl::IsNotFound(value.status())) return std::optional<std::string>();
  return value.status();
}

// A window wants this name: nobody had told it when the window was written.
bool IsWanted(std::string_view value) { return value.size() == 1; }

// What one source called a location last, wherever that stands; wanted ones are no names.
absl::StatusOr<std::optional<std::string>> Last(const History& history,
                                                const std::set<NamePartition>& partitions,
                                                std::string_view build_id, uint64_t offset,
                                                uint32_t source) {
  // Finest tier first, and of it the newest.
  std::vector<NamePartition> order(partitions.begin(), partitions.end());
  std::sort(order.begin(), order.end(), [](const NamePartition& a, const NamePartition& b) {
    return a.tier != b.tier ? a.tier < b.tier : a.bucket > b.bucket;
  });
  for (const NamePartition& partition : order) {
    auto value = GetIfAny(history, NameKey(partition, build_id, offset, source));
    if (!value.ok()) return value.status();
    if (value->has_value() && !IsWanted(**value)) return value;
  }
  return std::optional<std::string>();
}

bool MayHaveName(std::string_view build_id) {
  return !build_id.empty() && build_id.size() <= UINT8_MAX;
}

}  // namespace

Dictionary::Dictionary(History* history) : history_(history), kept_(kSlots), unnamed_(kSlots) {}

absl::StatusOr<std::unique_ptr<Dictionary>> Dictionary::Open(History* history) {
  std::unique_ptr<Dictionary> dictionary(new Dictionary(history));
  const std::string end = PrefixEnd(kNamesBegin);
  std::string from = kNamesBegin;
  while (true) {
    absl::Status bad;
    std::optional<NamePartition> found;
    absl::Status scanned =
        history->Scan(Family::kDict, from, end, [&](std::string_view key, std::string_view) {
          absl::StatusOr<NameOrigin> origin = DecodeNameKey(key);
          if (origin.ok()) {
            found = origin->partition;
          } else {
            bad = origin.status();
          }
          return false;
        });
    if (!scanned.ok()) return scanned;
    if (!bad.ok()) return bad;
    if (!found.has_value()) return dictionary;
    dictionary->partitions_.insert(*found);
    from = PrefixEnd(NamePartitionPrefix(*found));
  }
}

std::set<NamePartition> Dictionary::partitions() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return partitions_;
}

absl::Status Dictionary::Append(const std::vector<Row>& rows) {
  if (rows.empty()) return absl::OkStatus();
  absl::Status appended = history_->Append(rows);
  if (!appended.ok()) return appended;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Row& row : rows) {
    absl::StatusOr<NameOrigin> origin = DecodeNameKey(row.key);
    if (origin.ok()) partitions_.insert(origin->partition);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Dictionary::Agreed(NamePartition now, const Location& location, uint32_t node,
                                        std::string_view value) const {
  bool agreed = false;
  const auto look = [&](std::string_view key, std::string_view told) {
    absl::StatusOr<NameOrigin> origin = DecodeNameKey(key);
    agreed = origin.ok() && origin->source != node && told == value;
    return !agreed;
  };
  for (uint16_t back = 0; back <= 1 && back <= now.bucket && !agreed; ++back) {
    const NamePartition partition{now.tier, static_cast<uint16_t>(now.bucket - back)};
    const std::string prefix = NamePrefix(partition, location.build_id, location.offset);
    absl::Status scanned = history_->Scan(Family::kDict, prefix, PrefixEnd(prefix), look);
    if (!scanned.ok()) return scanned;
  }
  return agreed;
}

absl::Status Dictionary::FillWanted(const Location& location, uint32_t source,
                                    const std::string& value, uint64_t sealed_ns,
                                    std::vector<Row>* rows) const {
  for (const NamePartition& partition : partitions()) {
    if (partition.tier == Tier::kRaw || NamePartitionEndNs(partition) <= sealed_ns) continue;
    bool wanted = false;
    const std::string prefix = source == kSharedName
                                   ? NamePrefix(partition, location.build_id, location.offset)
                                   : NameKey(partition, location.build_id, location.offset, source);
    absl::Status scanned = history_->Scan(Family::kDict, prefix, PrefixEnd(prefix),
                                          [&](std::string_view, std::string_view there) {
                                            wanted = IsWanted(there);
                                            return !wanted;
                                          });
    if (!scanned.ok()) return scanned;
    if (!wanted) continue;
    rows->push_back(
        {Family::kDict, NameKey(partition, location.build_id, location.offset, source), value, 0});
  }
  return absl::OkStatus();
}

absl::StatusOr<Dictionary::Told> Dictionary::Tell(uint32_t node, const v1::Names& names,
                                                  const Telling& telling) {
  Told told;
  if (!MayHaveName(names.build_id())) return told;
  const NamePartition partition = NamePartitionOf(Tier::kRaw, telling.now_ns);
  std::lock_guard<std::mutex> one_at_a_time(tell_mutex_);
  std::vector<Row> rows;
  std::vector<uint64_t> locations;
  for (int i = 0; i < std::min(names.offset_size(), names.name_size()); ++i) {
    const Location location{names.build_id(), names.offset(i)};
    std::string key = NameKey(partition, location.build_id, location.offset, node);
    const std::string value = VersionedValue(names.name(i));
    auto known = GetIfAny(*history_, key);
    if (!known.ok()) return known.status();
    if (*known == value || names.name(i).empty()) continue;
    // What all nodes are told already needs no row of this one's own: most of a fleet's names.
    std::string shared_key = NameKey(partition, location.build_id, location.offset, kSharedName);
    auto shared = GetIfAny(*history_, shared_key);
    if (!shared.ok()) return shared.status();
    if (!known->has_value() && *shared == value) {
      auto own = Last(*history_, partitions(), location.build_id, location.offset,
                      node);  // perhaps told earlier, and other
      if (!own.ok()) return own.status();
      if (!own->has_value() || *own == value) continue;
    }
    const uint64_t bytes = key.size() + value.size();
    if (told.bytes + bytes > telling.room_bytes) {
      ++told.left_out;
      continue;
    }
    told.bytes += bytes;
    rows.push_back({Family::kDict, std::move(key), value, 0});
    locations.push_back(LocationDigest(location.build_id, location.offset));
    absl::Status filled = FillWanted(location, node, value, telling.sealed_ns, &rows);
    if (!filled.ok()) return filled;

    if (shared->has_value()) continue;
    absl::StatusOr<bool> agreed = Agreed(partition, location, node, value);
    if (!agreed.ok()) return agreed.status();
    if (!*agreed) continue;
    rows.push_back({Family::kDict, std::move(shared_key), value, 0});
    filled = FillWanted(location, kSharedName, value, telling.sealed_ns, &rows);
    if (!filled.ok()) return filled;
  }
  absl::Status appended = Append(rows);
  if (!appended.ok()) return appended;
  std::lock_guard<std::mutex> lock(mutex_);
  ++told_;
  for (uint64_t location : locations) unnamed_[location % kSlots] = 0;
  return told;
}

absl::StatusOr<std::optional<Dictionary::Found>> Dictionary::Find(const Location& location,
                                                                  uint32_t node) const {
  const std::set<NamePartition> all = partitions();
  for (const uint32_t source : {node, kSharedName}) {
    auto value = Last(*history_, all, location.build_id, location.offset, source);
    if (!value.ok()) return value.status();
    if (value->has_value()) {
      return std::optional<Found>(Found{**std::move(value), source == kSharedName});
    }
  }
  return std::optional<Found>();
}

std::optional<std::string> Dictionary::Name(std::string_view build_id, uint64_t offset,
                                            uint32_t node) const {
  if (!MayHaveName(build_id)) return std::nullopt;
  const uint64_t location = LocationDigest(build_id, offset);
  uint64_t told;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (unnamed_[location % kSlots] == Mix(location, node)) return std::nullopt;
    told = told_;
  }
  auto found = Find({build_id, offset}, node);
  if (!found.ok()) return std::nullopt;
  if (!found->has_value()) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (told == told_) unnamed_[location % kSlots] = Mix(location, node);
    return std::nullopt;
  }
  absl::StatusOr<std::string_view> name = ValueContent((*found)->value, "symbol name");
  if (!name.ok()) return std::nullopt;
  return std::string(*name);
}

absl::StatusOr<std::optional<Row>> Dictionary::KeptRow(NamePartition partition,
                                                       const Location& location,
                                                       uint32_t node) const {
  std::string key = NameKey(partition, location.build_id, location.offset, node);
  auto there = GetIfAny(*history_, key);
  if (!there.ok()) return there.status();
  if (there->has_value()) return std::optional<Row>();
  auto found = Find(location, node);
  if (!found.ok()) return found.status();
  if (!found->has_value()) return Row{Family::kDict, std::move(key), VersionedValue(""), 0};
  if ((*found)->shared) {
    key = NameKey(partition, location.build_id, location.offset, kSharedName);
  }
  return Row{Family::kDict, std::move(key), std::move((*found)->value), 0};
}

absl::Status Dictionary::Keep(Tier tier, uint64_t window_start_ns, uint32_t node,
                              const v1::Tables& tables) {
  const NamePartition partition = NamePartitionOf(tier, window_start_ns);
  const uint64_t partition_number = static_cast<uint64_t>(tier) << 16 | partition.bucket;
  std::vector<Location> locations;
  std::vector<uint64_t> marks;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const int frames = std::min(tables.frame_mapping_size(), tables.frame_offset_size());
    for (int i = 0; i < frames; ++i) {
      const uint32_t mapping = tables.frame_mapping(i);  // index + 1
      if (mapping == 0 || mapping > static_cast<uint32_t>(tables.mappings_size())) continue;
      const Location location{tables.mappings(static_cast<int>(mapping - 1)).build_id(),
                              tables.frame_offset(i)};
      if (!MayHaveName(location.build_id)) continue;
      const uint64_t mark =
          Mix(Mix(LocationDigest(location.build_id, location.offset), node), partition_number);
      if (kept_[mark % kSlots] == mark) continue;
      locations.push_back(location);
      marks.push_back(mark);
    }
  }
  if (locations.empty()) return absl::OkStatus();
  std::lock_guard<std::mutex> one_at_a_time(tell_mutex_);
  std::vector<Row> rows;
  for (const Location& location : locations) {
    absl::StatusOr<std::optional<Row>> row = KeptRow(partition, location, node);
    if (!row.ok()) return row.status();
    if (row->has_value()) rows.push_back(**std::move(row));
  }
  absl::Status appended = Append(rows);
  if (!appended.ok()) return appended;
  std::lock_guard<std::mutex> lock(mutex_);
  for (uint64_t mark : marks) kept_[mark % kSlots] = mark;
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> Dictionary::DropBefore(Tier tier, uint64_t time_ns) {
  uint32_t dropped = 0;
  for (const NamePartition& partition : partitions()) {
    const uint64_t needed_ns = NamePartitionEndNs(partition) + (tier == Tier::kRaw ? kServesNs : 0);
    if (partition.tier != tier || needed_ns > time_ns) continue;
    const std::string prefix = NamePartitionPrefix(partition);
    absl::Status gone = history_->DropRange(Family::kDict, prefix, PrefixEnd(prefix));
    if (!gone.ok()) return gone;
    std::lock_guard<std::mutex> lock(mutex_);
    partitions_.erase(partition);
    std::fill(kept_.begin(), kept_.end(), 0);
    ++dropped;
  }
  return dropped;
}

}  // namespace telltale::storage
