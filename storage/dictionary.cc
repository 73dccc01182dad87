#include "storage/dictionary.h"

#include <xxhash.h>

#include <algorithm>
#include <random>
#include <utility>

#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

constexpr size_t kSlots = size_t{1} << 19;  // 4 MiB
// Of a location; with more, any source may be one of them.
constexpr uint32_t kMostSources = 64;

uint64_t Mix(uint64_t digest, uint64_t with) {
  return XXH3_64bits_withSeed(&with, sizeof with, digest) | 1;  // never 0, an empty slot
}

uint64_t Salt() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

size_t UnnamedSlot(uint64_t location) { return (location >> 1) % kSlots; }

// A name of the location that stands in the partition: the source's own, or the shared one.
uint64_t KeptIn(NamePartition partition, uint64_t location, uint32_t source) {
  return Mix(Mix(location, source), static_cast<uint64_t>(partition.tier) << 16 | partition.bucket);
}
// This very name of it, shared.
uint64_t SharedIn(NamePartition partition, uint64_t location, std::string_view value) {
  return Mix(KeptIn(partition, location, kSharedName), XXH3_64bits(value.data(), value.size()));
}

// A window wants this name: nobody had told it when the window was written.
bool IsWanted(std::string_view value) { return value.size() == 1; }

bool MayHaveName(std::string_view build_id) {
  return !build_id.empty() && build_id.size() <= UINT8_MAX;
}

}  // namespace

Dictionary::Dictionary(History* history, const NameMemory& memory)
    : history_(history),
      salt_(Salt()),
      standing_(memory.rows),
      sources_(memory.locations),
      unnamed_(kSlots) {}

Dictionary::Location Dictionary::LocationOf(std::string_view build_id, uint64_t offset) const {
  return {build_id, offset,
          Mix(XXH3_64bits_withSeed(build_id.data(), build_id.size(), salt_), offset)};
}

absl::StatusOr<std::optional<std::string>> Dictionary::Stored(std::string_view key) const {
  absl::StatusOr<std::string> value = history_->Get(Family::kDict, key);
  if (value.ok()) return std::optional<std::string>(*std::move(value));
  if (absl::IsDataLoss(value.status())) {
    CountUnreadable(1);
  } else if (!absl::IsNotFound(value.status())) {
    return value.status();
  }
  return std::optional<std::string>();
}

absl::StatusOr<bool> Dictionary::ScanStored(std::string_view prefix,
                                            const RowVisitor& visit) const {
  absl::Status scanned = history_->Scan(Family::kDict, prefix, PrefixEnd(prefix), visit);
  if (scanned.ok()) return true;
  if (!absl::IsDataLoss(scanned)) return scanned;
  CountUnreadable(1);
  return false;
}

uint64_t Dictionary::BeginRemembering() {
  const uint64_t now = history_->Beginnings();
  std::lock_guard<std::mutex> lock(mutex_);
  if (beginnings_ != now) standing_.Clear();
  beginnings_ = now;
  return now;
}

void Dictionary::Remember(const std::vector<uint64_t>& rows, uint64_t beginnings) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (history_->Beginnings() != beginnings) return;
  for (uint64_t row : rows) standing_.Add(row);
}

bool Dictionary::Stands(uint64_t row) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return standing_.Has(row);
}

bool Dictionary::MayHaveRow(const Location& location, uint32_t source) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return sources_.MayHold(location.digest, source);
}

bool Dictionary::MayHaveAnyRow(const Location& location) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return sources_.MayHoldAny(location.digest);
}

void Dictionary::ForgetKept(const Location& location, uint32_t source) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const NamePartition& partition : partitions_) {
    standing_.Remove(KeptIn(partition, location.digest, source));
  }
}

absl::Status Dictionary::LearnSources(const Location& location) {
  std::set<NamePartition> partitions;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (sources_.Knows(location.digest)) return absl::OkStatus();
    partitions = partitions_;
  }
  SourceSet sources;
  uint32_t rows = 0;
  const auto look = [&](std::string_view key, std::string_view) {
    absl::StatusOr<NameOrigin> origin = DecodeNameKey(key);
    if (origin.ok()) sources.Add(origin->source);
    if (!origin.ok() || ++rows > kMostSources) sources.AddAll();
    return rows <= kMostSources;
  };
  for (const NamePartition& partition : partitions) {
    absl::StatusOr<bool> whole =
        ScanStored(NamePrefix(partition, location.build_id, location.offset), look);
    if (!whole.ok()) return whole.status();
    if (!*whole) sources.AddAll();
  }
  std::lock_guard<std::mutex> lock(mutex_);
  sources_.Learn(location.digest, sources);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> Dictionary::Last(const Location& location,
                                                            uint32_t source) const {
  if (!MayHaveRow(location, source)) return std::optional<std::string>();
  // Finest tier first, and of it the newest.
  const std::set<NamePartition> all = partitions();
  std::vector<NamePartition> order(all.begin(), all.end());
  std::sort(order.begin(), order.end(), [](const NamePartition& a, const NamePartition& b) {
    return a.tier != b.tier ? a.tier < b.tier : a.bucket > b.bucket;
  });
  for (const NamePartition& partition : order) {
    auto value = Stored(NameKey(partition, location.build_id, location.offset, source));
    if (!value.ok()) return value.status();
    if (value->has_value() && !IsWanted(**value)) return value;
  }
  return std::optional<std::string>();
}

absl::Status Dictionary::Append(const Pending& pending) {
  if (pending.rows.empty()) return absl::OkStatus();
  const absl::Status appended = history_->Append(pending.rows);
  std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < pending.rows.size(); ++i) {
    absl::StatusOr<NameOrigin> origin = DecodeNameKey(pending.rows[i].key);
    if (!origin.ok()) continue;
    // Also of rows that could not all be written some may be there.
    sources_.Add(pending.locations[i], origin->source);
    partitions_.insert(origin->partition);
  }
  return appended;
}

absl::StatusOr<Dictionary::Others> Dictionary::OthersTell(NamePartition now,
                                                          const Location& location, uint32_t node,
                                                          std::string_view value) const {
  Others others = Others::kSilent;
  const auto look = [&](std::string_view key, std::string_view told) {
    absl::StatusOr<NameOrigin> origin = DecodeNameKey(key);
    if (!origin.ok() || origin->source == node) return true;
    others = told == value ? Others::kAgree : Others::kContradict;
    return others != Others::kAgree;
  };
  for (uint16_t back = 0; back <= 1 && back <= now.bucket && others != Others::kAgree; ++back) {
    const NamePartition partition{now.tier, static_cast<uint16_t>(now.bucket - back)};
    // Beside rows that cannot be read nobody is seen to agree: in the next period they do.
    absl::StatusOr<bool> whole =
        ScanStored(NamePrefix(partition, location.build_id, location.offset), look);
    if (!whole.ok()) return whole.status();
  }
  return others;
}

absl::Status Dictionary::FillWanted(const Location& location, uint32_t source,
                                    const std::string& value, uint64_t sealed_ns,
                                    Pending* pending) const {
  for (const NamePartition& partition : partitions()) {
    if (partition.tier == Tier::kRaw || NamePartitionEndNs(partition) <= sealed_ns) continue;
    bool wanted = false;
    const std::string prefix = source == kSharedName
                                   ? NamePrefix(partition, location.build_id, location.offset)
                                   : NameKey(partition, location.build_id, location.offset, source);
    absl::StatusOr<bool> whole = ScanStored(prefix, [&](std::string_view, std::string_view there) {
      wanted = IsWanted(there);
      return !wanted;
    });
    if (!whole.ok()) return whole.status();
    // Of what cannot be read the name is told again here, too.
    if (!wanted && *whole) continue;
    pending->rows.push_back(
        {Family::kDict, NameKey(partition, location.build_id, location.offset, source), value, 0});
    pending->locations.push_back(location.digest);
  }
  return absl::OkStatus();
}

absl::Status Dictionary::TellOne(NamePartition now, const Location& location, uint32_t node,
                                 const std::string& value, const Telling& telling, Told* told,
                                 Pending* pending) {
  absl::Status learned = LearnSources(location);
  if (!learned.ok()) return learned;
  const bool told_before = MayHaveRow(location, node);
  const bool anybody = told_before || MayHaveAnyRow(location);
  std::optional<std::string> known, shared;
  if (told_before) {
    auto own = Stored(NameKey(now, location.build_id, location.offset, node));
    if (!own.ok()) return own.status();
    if (*own == value) return absl::OkStatus();
    known = *std::move(own);
  }
  // What all nodes are told already needs no row of this one's own: most of a fleet's names.
  const uint64_t shared_row = SharedIn(now, location.digest, value);
  if (Stands(shared_row)) {
    shared = value;
  } else if (MayHaveRow(location, kSharedName)) {
    auto there = Stored(NameKey(now, location.build_id, location.offset, kSharedName));
    if (!there.ok()) return there.status();
    shared = *std::move(there);
    if (shared == value) pending->standing.push_back(shared_row);
  }
  if (!known.has_value() && shared == value) {
    auto own = Last(location, node);  // perhaps told earlier, and other
    if (!own.ok()) return own.status();
    if (!own->has_value() || *own == value) return absl::OkStatus();
  }
  std::string key = NameKey(now, location.build_id, location.offset, node);
  const uint64_t bytes = key.size() + value.size();
  if (told->bytes + bytes > telling.room_bytes) {
    ++told->left_out;
    return absl::OkStatus();
  }
  told->bytes += bytes;
  pending->rows.push_back({Family::kDict, std::move(key), value, 0});
  pending->locations.push_back(location.digest);
  if (told_before) {
    absl::Status filled = FillWanted(location, node, value, telling.sealed_ns, pending);
    if (!filled.ok()) return filled;
  }
  ForgetKept(location, node);
  if (shared.has_value()) {
    if (*shared != value) ++told->contradicted;
    return absl::OkStatus();
  }
  if (!anybody) return absl::OkStatus();
  absl::StatusOr<Others> others = OthersTell(now, location, node, value);
  if (!others.ok()) return others.status();
  if (*others == Others::kContradict) ++told->contradicted;
  if (*others != Others::kAgree) return absl::OkStatus();
  pending->rows.push_back(
      {Family::kDict, NameKey(now, location.build_id, location.offset, kSharedName), value, 0});
  pending->locations.push_back(location.digest);
  pending->standing.push_back(shared_row);
  ForgetKept(location, kSharedName);
  return FillWanted(location, kSharedName, value, telling.sealed_ns, pending);
}

absl::StatusOr<Dictionary::Told> Dictionary::Tell(uint32_t node, const v1::Names& names,
                                                  const Telling& telling) {
  Told told;
  if (!MayHaveName(names.build_id())) return told;
  const NamePartition now = NamePartitionOf(Tier::kRaw, telling.now_ns);
  std::lock_guard<std::mutex> one_at_a_time(tell_mutex_);
  const uint64_t beginnings = BeginRemembering();
  Pending pending;
  for (int i = 0; i < std::min(names.offset_size(), names.name_size()); ++i) {
    if (names.name(i).empty()) continue;
    absl::Status one = TellOne(now, LocationOf(names.build_id(), names.offset(i)), node,
                               VersionedValue(names.name(i)), telling, &told, &pending);
    if (!one.ok()) return one;
  }
  absl::Status appended = Append(pending);
  if (!appended.ok()) return appended;
  contradicted_.fetch_add(told.contradicted, std::memory_order_relaxed);
  Remember(pending.standing, beginnings);
  std::lock_guard<std::mutex> lock(mutex_);
  ++told_;
  for (uint64_t location : pending.locations) unnamed_[UnnamedSlot(location)] = 0;
  return told;
}

absl::StatusOr<std::optional<Dictionary::Found>> Dictionary::Find(const Location& location,
                                                                  uint32_t node) const {
  for (const uint32_t source : {node, kSharedName}) {
    auto value = Last(location, source);
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
  const Location location = LocationOf(build_id, offset);
  const uint64_t nameless = Mix(location.digest, node);
  uint64_t told;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (unnamed_[UnnamedSlot(location.digest)] == nameless) return std::nullopt;
    told = told_;
  }
  auto found = Find(location, node);
  if (!found.ok()) return std::nullopt;
  if (!found->has_value()) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (told == told_) unnamed_[UnnamedSlot(location.digest)] = nameless;
    return std::nullopt;
  }
  absl::StatusOr<std::string_view> name = ValueContent((*found)->value, "symbol name");
  if (!name.ok()) return std::nullopt;
  return std::string(*name);
}

absl::Status Dictionary::KeepOne(NamePartition partition, const Location& location, uint32_t node,
                                 Pending* pending) {
  const auto key_of = [&](uint32_t source) {
    return NameKey(partition, location.build_id, location.offset, source);
  };
  const uint64_t own_row = KeptIn(partition, location.digest, node);
  if (MayHaveRow(location, node)) {
    auto there = Stored(key_of(node));
    if (!there.ok()) return there.status();
    if (there->has_value()) {
      pending->standing.push_back(own_row);
      return absl::OkStatus();
    }
  }
  absl::Status learned = LearnSources(location);
  if (!learned.ok()) return learned;
  auto found = Find(location, node);
  if (!found.ok()) return found.status();
  std::string value = found->has_value() ? std::move((*found)->value) : VersionedValue("");
  uint32_t source = node;
  if (found->has_value() && (*found)->shared) {
    source = kSharedName;
    pending->standing.push_back(KeptIn(partition, location.digest, kSharedName));
    auto there = Stored(key_of(kSharedName));
    if (!there.ok()) return there.status();
    // One row serves all nodes that have none of their own.
    if (MayHaveRow(location, node)) pending->standing.push_back(own_row);
    if (*there == value) return absl::OkStatus();
  } else {
    pending->standing.push_back(own_row);
  }
  pending->rows.push_back({Family::kDict, key_of(source), std::move(value), 0});
  pending->locations.push_back(location.digest);
  return absl::OkStatus();
}

absl::Status Dictionary::Keep(Tier tier, uint64_t window_start_ns, uint32_t node,
                              const v1::Tables& tables) {
  const NamePartition partition = NamePartitionOf(tier, window_start_ns);
  const uint64_t beginnings = BeginRemembering();
  std::vector<Location> locations;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const int frames = std::min(tables.frame_mapping_size(), tables.frame_offset_size());
    for (int i = 0; i < frames; ++i) {
      const uint32_t mapping = tables.frame_mapping(i);  // index + 1
      if (mapping == 0 || mapping > static_cast<uint32_t>(tables.mappings_size())) continue;
      const std::string& build_id = tables.mappings(static_cast<int>(mapping - 1)).build_id();
      if (!MayHaveName(build_id)) continue;
      const Location location = LocationOf(build_id, tables.frame_offset(i));
      if (standing_.Has(KeptIn(partition, location.digest, node))) continue;
      if (standing_.Has(KeptIn(partition, location.digest, kSharedName)) &&
          !sources_.MayHold(location.digest, node)) {
        continue;
      }
      locations.push_back(location);
    }
  }
  if (locations.empty()) return absl::OkStatus();
  std::lock_guard<std::mutex> one_at_a_time(tell_mutex_);
  Pending pending;
  for (const Location& location : locations) {
    absl::Status one = KeepOne(partition, location, node, &pending);
    if (!one.ok()) return one;
  }
  absl::Status appended = Append(pending);
  if (!appended.ok()) return appended;
  Remember(pending.standing, beginnings);
  return absl::OkStatus();
}

}  // namespace telltale::storage
