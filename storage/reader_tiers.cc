#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire_field.h"
#include "storage/placement.h"
#include "storage/reader.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

template <typename Values, typename Value>
bool Contains(const Values& values, Value value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Whether a field of a window is needed.
bool Needed(const proto::WireField& field, const RollupParts& parts) {
  switch (field.number) {
    case v1::RollupWindow::kVitalsFieldNumber: {
      std::string_view totals = field.inside;
      proto::WireField first;  // canonical bytes begin with the id
      if (parts.totals.empty() || !proto::NextField(totals, first)) return true;
      return first.number != v1::VitalTotals::kIdFieldNumber || Contains(parts.totals, first.value);
    }
    case v1::RollupWindow::kTablesFieldNumber:
      return parts.tables == RollupParts::Tables::kMade;
    case v1::RollupWindow::kHistogramsFieldNumber:
      return parts.histograms;
    case v1::RollupWindow::kRunTimeFieldNumber:
      return parts.run_time;
    default:
      return true;
  }
}

}  // namespace

absl::Status DecodeWindow(std::string_view value, const RollupParts& parts,
                          v1::RollupWindow* window, StoredTables* tables) {
  constexpr char kWhat[] = "rollup window";
  using Tables = RollupParts::Tables;
  if (parts.totals.empty() && parts.tables == Tables::kMade && parts.histograms && parts.run_time) {
    return DecodeInto(value, kWhat, window);
  }
  absl::StatusOr<std::string_view> content = ValueContent(value, kWhat);
  if (!content.ok()) return content.status();
  std::string kept(1, kValueVersion);
  std::string_view as_stored;
  proto::WireField field;
  while (!content->empty()) {
    if (!proto::NextField(*content, field)) {
      return absl::DataLossError(
          absl::StrCat("read ", kWhat, ": ", value.size(), " bytes are not a ", kWhat));
    }
    if (Needed(field, parts)) kept.append(field.whole);
    if (field.number == v1::RollupWindow::kTablesFieldNumber) as_stored = field.inside;
  }
  if (parts.tables == Tables::kStored && !tables->Read(as_stored)) {
    return absl::DataLossError(
        absl::StrCat("read ", kWhat, ": its ", as_stored.size(), " bytes of tables are none"));
  }
  return DecodeInto(kept, kWhat, window);
}

RollupParts RollupParts::Totals(std::span<const uint32_t> vitals) {
  RollupParts parts{0};
  parts.totals.assign(vitals.begin(), vitals.end());
  parts.tables = Tables::kNone;
  parts.histograms = parts.run_time = false;
  return parts;
}

RollupParts RollupParts::Labels(std::span<const uint32_t> vitals, bool run_time) {
  RollupParts parts;
  for (const uint32_t vital : vitals) parts.vitals.push_back(static_cast<uint8_t>(vital));
  parts.totals.assign(vitals.begin(), vitals.end());
  parts.tables = Tables::kStored;
  parts.histograms = false;
  parts.run_time = run_time;
  return parts;
}

absl::Status Reader::ForEachSeries(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                   const SeriesVisitor& visit,
                                   const DamagedVisitor& damaged) const {
  if (to_ns <= from_ns) return absl::OkStatus();
  absl::Status bad;
  bool go_on = true;
  const SharedNode record = registry_->Get(node);
  if (record == nullptr) return absl::OkStatus();
  const uint64_t begin = std::max(from_ns, FloorTo(record->first_epoch_ns(), kHourNs));
  const uint64_t end = std::min(to_ns, record->last_epoch_ns() + kHourNs);
  const auto skip = [&](const absl::Status& why, uint64_t start_ns, uint64_t end_ns) {
    bad =
        Skip(why, {.family = Family::kSeries, .node = node, .start_ns = start_ns, .end_ns = end_ns},
             damaged);
    return go_on = bad.ok();
  };
  for (uint64_t day = FloorTo(begin, kDayNs); day < end && go_on; day += kDayNs) {
    const uint64_t first = std::max(day, FloorTo(begin, kHourNs));
    const uint64_t last = std::min(day + kDayNs, end) - 1;
    uint64_t reached_ns = first;
    absl::Status scanned = history_->ScanOver(
        Family::kSeries, EncodeSeriesKey({node, first}), PrefixEnd(EncodeSeriesKey({node, last})),
        [&](std::string_view bytes, std::string_view value) {
          if (!go_on) return false;
          absl::StatusOr<SeriesKey> key = DecodeSeriesKey(bytes);
          if (!key.ok()) return skip(key.status(), reached_ns, reached_ns);
          reached_ns = key->hour_start_ns + kHourNs;
          absl::StatusOr<v1::SeriesBlock> block =
              DecodeValue<v1::SeriesBlock>(value, "series block");
          if (!block.ok()) return skip(block.status(), key->hour_start_ns, reached_ns);
          return go_on = visit(*key, *block);
        },
        [&](const DamagedRange& range) {
          if (!go_on) return;
          const absl::StatusOr<SeriesKey> behind = DecodeSeriesKey(range.before);
          const uint64_t known = behind.ok() ? behind->hour_start_ns : last + 1;
          skip(absl::DataLossError(range.why), reached_ns, std::max(reached_ns, known));
        });
    if (!scanned.ok()) return scanned;
  }
  return bad;
}

absl::Status Reader::ForEachLine(Tier tier, uint8_t vital, uint64_t from_ns, uint64_t to_ns,
                                 const LineVisitor& visit, const DamagedVisitor& damaged,
                                 const std::vector<uint32_t>& groups) const {
  if (to_ns <= from_ns) return absl::OkStatus();
  absl::Status bad;
  bool go_on = true;
  const uint64_t length = LineBucketNs(tier);
  const auto skip = [&](const absl::Status& why, const LineKey& key, uint64_t end_ns) {
    bad = Skip(why, {Family::kLine, tier, vital, key.group, key.bucket_start_ns, end_ns}, damaged);
    return go_on = bad.ok();
  };
  LineKey reached;
  const auto read = [&](std::string_view bytes, std::string_view value) {
    if (!go_on) return false;
    absl::StatusOr<LineKey> key = DecodeLineKey(bytes);
    if (!key.ok()) return skip(key.status(), reached, reached.bucket_start_ns);
    reached = *key;
    if (!groups.empty() && !std::binary_search(groups.begin(), groups.end(), key->group)) {
      return true;
    }
    absl::StatusOr<v1::LineBlock> block = DecodeValue<v1::LineBlock>(value, "line block");
    if (!block.ok()) return skip(block.status(), *key, key->bucket_start_ns + length);
    return go_on = visit(*key, *block);
  };
  const uint64_t last = FloorTo(to_ns - 1, length);
  // Of all groups the buckets follow each other.
  for (uint64_t bucket = FloorTo(from_ns, length); bucket <= last && go_on; bucket += length) {
    reached = {tier, vital, bucket, groups.empty() ? 0 : groups.front()};
    const LineKey end{tier, vital, groups.empty() ? last : bucket,
                      groups.empty() ? UINT32_MAX : groups.back()};
    absl::Status scanned = history_->ScanOver(
        Family::kLine, EncodeLineKey(reached), PrefixEnd(EncodeLineKey(end)), read,
        [&](const DamagedRange& range) {
          if (!go_on) return;
          // The block behind it may be one of several groups' of that bucket.
          const absl::StatusOr<LineKey> behind = DecodeLineKey(range.before);
          const uint64_t known = behind.ok() ? behind->bucket_start_ns : end.bucket_start_ns;
          skip(absl::DataLossError(range.why), reached, known + length);
        });
    if (!scanned.ok()) return scanned;
    if (groups.empty()) break;
  }
  return bad;
}

absl::Status Reader::ForEachRollup(Tier tier, uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                   const RollupParts& parts, const RollupVisitor& visit,
                                   const DamagedVisitor& damaged) const {
  if (to_ns <= from_ns || tier == Tier::kRaw) return absl::OkStatus();
  const SharedNode record = registry_->Get(node);
  if (record == nullptr) return absl::OkStatus();
  const uint64_t window = WindowNs(tier);
  const uint64_t begin = std::max(from_ns, FloorTo(record->first_epoch_ns(), window));
  const uint64_t end = std::min(to_ns, record->last_epoch_ns() + window);
  const uint64_t bucket_ns = RollupBucketNs(tier);
  absl::Status bad;
  bool go_on = true;
  // One row and one store of vitals for all windows: most of reading them was making messages.
  RollupRow row;
  std::vector<v1::RollupVital> spare;
  bool have_row = false;
  const auto flush = [&] {
    if (have_row) go_on = visit(row);
    have_row = false;
    return go_on;
  };
  const auto skip = [&](const absl::Status& why, uint64_t start_ns, uint64_t end_ns) {
    have_row = false;  // totals without their labels would look like a window that has none
    bad = Skip(why, {Family::kRollup, tier, 0, node, start_ns, end_ns}, damaged);
    return go_on = bad.ok();
  };
  for (uint64_t bucket = FloorTo(begin, bucket_ns); bucket < end && go_on; bucket += bucket_ns) {
    // The first window that begins in the range, and the last.
    uint64_t first = std::max(bucket, FloorTo(begin + window - 1, window));
    const uint64_t last = FloorTo(std::min(bucket + bucket_ns, end) - 1, window);
    if (first > last) continue;
    uint64_t reached_ns = first;
    absl::Status scanned = history_->ScanOver(
        Family::kRollup, EncodeRollupKey({tier, node, first, 0}),
        PrefixEnd(EncodeRollupKey({tier, node, last, UINT8_MAX})),
        [&](std::string_view bytes, std::string_view value) {
          if (!go_on) return false;
          absl::StatusOr<RollupKey> key = DecodeRollupKey(bytes);
          if (!key.ok()) return skip(key.status(), reached_ns, reached_ns);
          reached_ns = key->window_start_ns;
          if (key->vital == 0) {
            if (!flush()) return false;
            absl::Status read = DecodeWindow(value, parts, &row.window, &row.tables);
            if (!read.ok()) return skip(read, reached_ns, reached_ns + window);
            row.key = *key;
            for (auto& [id, vital] : row.vitals) spare.push_back(std::move(vital));
            row.vitals.clear();
            have_row = true;
            return true;
          }
          const bool wanted = parts.vitals.empty() || Contains(parts.vitals, key->vital);
          if (!have_row || !wanted || key->window_start_ns != row.key.window_start_ns) return true;
          // A window is rewritten as a whole; a vital it no longer lists is left over from before.
          const bool listed =
              std::any_of(row.window.vitals().begin(), row.window.vitals().end(),
                          [&](const v1::VitalTotals& totals) { return totals.id() == key->vital; });
          if (!listed) return true;
          if (spare.empty()) spare.emplace_back();
          row.vitals.emplace_back(key->vital, std::move(spare.back()));
          spare.pop_back();
          absl::Status read = DecodeInto(value, "rollup vital", &row.vitals.back().second);
          return read.ok() || skip(read, reached_ns, reached_ns + window);
        },
        [&](const DamagedRange& range) {
          if (!go_on) return;
          // No window begins behind the node's last epoch.
          uint64_t known =
              std::min(last + window, FloorTo(record->last_epoch_ns() + window - 1, window));
          // Of one whose first rows are in it the others are left out, too.
          if (const absl::StatusOr<RollupKey> behind = DecodeRollupKey(range.before); behind.ok()) {
            known = behind->window_start_ns + (behind->vital == 0 ? 0 : window);
          }
          skip(absl::DataLossError(range.why), reached_ns, std::max(reached_ns, known));
        });
    if (!scanned.ok()) return scanned;
    if (go_on) flush();
  }
  return bad;
}

std::vector<DirtyKey> Reader::Dirty(uint32_t node, uint64_t from_ns, uint64_t to_ns) const {
  return summaries_->dirty().Of(node, from_ns, to_ns);
}

absl::StatusOr<std::vector<DirtyLineKey>> Reader::DirtyLines(Tier tier, uint64_t from_ns,
                                                             uint64_t to_ns) const {
  return summaries_->lines().Of(tier, from_ns, to_ns);
}

uint64_t Reader::RawFloorNs() const { return summaries_->RawFloor() * kDayNs; }

uint64_t Reader::Stamp(const std::vector<uint32_t>& groups, uint64_t from_ns,
                       uint64_t to_ns) const {
  return summaries_->stamps().Highest(groups, from_ns, to_ns);
}

absl::StatusOr<uint64_t> Reader::FirstWindow(Tier tier, uint32_t node, uint64_t from_ns,
                                             uint64_t to_ns) const {
  const uint64_t bucket_ns = RollupBucketNs(tier);
  uint64_t found = 0;
  for (uint64_t bucket = FloorTo(from_ns, bucket_ns); bucket < to_ns && found == 0;
       bucket += bucket_ns) {
    absl::Status scanned = history_->ScanOver(
        Family::kRollup, EncodeRollupKey({tier, node, bucket, 0}),
        PrefixEnd(EncodeRollupKey({tier, node, bucket + bucket_ns - WindowNs(tier), UINT8_MAX})),
        [&](std::string_view bytes, std::string_view) {
          absl::StatusOr<RollupKey> key = DecodeRollupKey(bytes);
          if (key.ok()) found = key->window_start_ns;
          return false;
        },
        [](const DamagedRange&) {});  // it begins behind what cannot be read
    if (!scanned.ok()) return scanned;
  }
  return found;
}

absl::StatusOr<std::vector<DataRange>> Reader::DataRanges(uint32_t node) const {
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;
  NodeList nodes;
  if (node == 0) {
    nodes = registry_->List();
  } else if (SharedNode one = registry_->Get(node)) {
    nodes.Add(std::move(one));
  }
  for (const NodeRecord& record : nodes) {
    if (record.last_epoch_ns() == 0) continue;
    first = std::min(first, record.first_epoch_ns());
    last = std::max(last, record.last_epoch_ns());
  }
  std::vector<DataRange> ranges;
  if (last == 0) return ranges;
  const uint64_t raw_from = std::max(first, summaries_->RawFloor() * kDayNs);
  if (raw_from < last) ranges.push_back({Tier::kRaw, raw_from, last});
  for (Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
    DataRange range{tier, 0, 0};
    // The first bucket with a row tells where the tier begins; what is not computed yet ends it.
    const std::string begin = RollupBucketPrefix(tier, 0);
    const std::string end = PrefixEnd(std::string_view(begin).substr(0, 1));
    absl::Status scanned = history_->ScanOver(
        Family::kRollup, begin, end,
        [&](std::string_view bytes, std::string_view) {
          absl::StatusOr<RollupKey> key = DecodeRollupKey(bytes);
          if (!key.ok()) return true;
          range.start_ns = key->window_start_ns;
          return false;
        },
        [](const DamagedRange&) {});
    if (!scanned.ok()) return scanned;
    if (range.start_ns == 0) continue;
    const uint64_t window = WindowNs(tier);
    if (node != 0) {
      absl::StatusOr<uint64_t> own =
          FirstWindow(tier, node, std::max(range.start_ns, FloorTo(first, window)), last + window);
      if (!own.ok()) return own.status();
      if (*own == 0) continue;
      range.start_ns = *own;
    }
    // A window is there once it is over and was computed.
    range.end_ns = FloorTo(last, window);
    std::set<uint64_t> waiting;
    if (node != 0) {
      for (const DirtyKey& key : Dirty(node, range.start_ns, range.end_ns)) {
        if (key.tier != Tier::kRaw && key.tier <= tier) {
          waiting.insert(FloorTo(key.window_start_ns, window));
        }
      }
    }
    while (range.end_ns > range.start_ns && waiting.contains(range.end_ns - window)) {
      range.end_ns -= window;
    }
    if (range.end_ns > range.start_ns) ranges.push_back(range);
  }
  return ranges;
}

absl::StatusOr<std::vector<StoreSizeRow>> Reader::Sizes() const {
  std::vector<StoreSizeRow> sizes;
  uint64_t newest = 0;
  uint64_t oldest = UINT64_MAX;
  for (const NodeRecord& record : registry_->List()) {
    if (record.last_epoch_ns() == 0) continue;
    newest = std::max(newest, record.last_epoch_ns());
    oldest = std::min(oldest, record.first_epoch_ns());
  }
  for (size_t i = 0; i < kFamilies; ++i) {
    const Family family = static_cast<Family>(i);
    if (family == Family::kRollup) {
      const std::pair<Tier, const char*> tiers[] = {
          {Tier::k5Min, "rollup_5min"}, {Tier::k1Hour, "rollup_1h"}, {Tier::k1Day, "rollup_1d"}};
      for (const auto& [tier, name] : tiers) {
        const std::string begin = RollupBucketPrefix(tier, 0);
        absl::StatusOr<uint64_t> bytes =
            history_->RangeBytes(family, begin, PrefixEnd(std::string_view(begin).substr(0, 1)));
        if (!bytes.ok()) return bytes.status();
        sizes.push_back({.family = name, .bytes = *bytes});
      }
      continue;
    }
    absl::StatusOr<FamilySize> size = history_->Size(family);
    if (!size.ok()) return size.status();
    StoreSizeRow row;
    row.family = std::string(FamilyName(family));
    row.bytes = size->bytes;
    row.rows = size->rows;
    if (family == Family::kRaw && newest != 0) {
      row.oldest_ns = std::max(oldest, summaries_->RawFloor() * kDayNs);
      row.newest_ns = newest;
    }
    sizes.push_back(std::move(row));
  }
  return sizes;
}

}  // namespace telltale::storage
