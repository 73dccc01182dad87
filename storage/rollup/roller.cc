#include "storage/rollup/roller.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/placement.h"
#include "storage/rollup/line_block.h"
#include "storage/rollup/series_block.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

constexpr uint64_t kLongestEpochNs = 120 * kSecondNs;  // the codec's limit

// Rows of a window; an ingest number orders recomputations of it.
std::vector<Row> RowsOf(const WindowRows& rows, RollupKey key, uint64_t version) {
  std::vector<Row> out;
  key.vital = 0;
  out.push_back({Family::kRollup, EncodeRollupKey(key), EncodeValue(rows.window), version});
  for (const auto& [vital, row] : rows.vitals) {
    key.vital = vital;
    out.push_back({Family::kRollup, EncodeRollupKey(key), EncodeValue(row), version});
  }
  return out;
}

// Visits the counted epochs whose middle lies in [start, end), ascending by key.
absl::Status ForEachEpoch(
    const Reader& reader, uint32_t node, uint64_t start_ns, uint64_t end_ns,
    const std::function<void(const RawRow&, const v1::Schema&, v1::SummaryBody)>& take) {
  absl::Status bad;
  const uint64_t from = start_ns > kLongestEpochNs ? start_ns - kLongestEpochNs : 0;
  absl::Status scanned = reader.ForEachRaw(node, from, end_ns, [&](const RawRow& row) {
    const uint64_t middle = row.key.start_ns + (row.end_ns - row.key.start_ns) / 2;
    if (middle < start_ns || middle >= end_ns) return true;
    absl::StatusOr<std::shared_ptr<const v1::Schema>> schema =
        reader.Schema(row.summary.schema_id());
    if (!schema.ok()) {
      bad = schema.status();
      return false;
    }
    absl::StatusOr<proto::Decoded> decoded = proto::DecodeSummary(row.summary, **schema);
    if (!decoded.ok()) {
      bad = decoded.status();
      return false;
    }
    take(row, **schema, std::move(decoded->body));
    return true;
  });
  return scanned.ok() ? bad : scanned;
}

}  // namespace

Roller::Roller(RollerOptions options, History* history, Catalog* catalog, const Reader* reader,
               const SummaryStore* summaries, Dictionary* dictionary)
    : options_(options),
      history_(history),
      catalog_(catalog),
      reader_(reader),
      summaries_(summaries),
      dictionary_(dictionary) {}

absl::StatusOr<std::vector<Row>> Roller::ComputeSeries(const DirtyMark& mark) const {
  const uint64_t start_ns = mark.key.window_start_ns;
  std::vector<SeriesEpoch> epochs;
  absl::Status read = ForEachEpoch(*reader_, mark.key.node, start_ns, start_ns + kHourNs,
                                   [&](const RawRow&, const v1::Schema&, v1::SummaryBody body) {
                                     const EpochSpan span = PlaceEpoch(body.epoch());
                                     epochs.push_back({span, std::move(body)});
                                   });
  if (!read.ok()) return read;
  if (epochs.empty()) return std::vector<Row>();
  return std::vector<Row>{{Family::kSeries, EncodeSeriesKey({mark.key.node, start_ns}),
                           EncodeValue(MakeSeriesBlock(start_ns, epochs)), mark.ingest_number}};
}

absl::StatusOr<std::vector<Row>> Roller::WriteWindow(const DirtyMark& mark,
                                                     const WindowModel& model) const {
  const DirtyKey& key = mark.key;
  const WindowRows rows = ToRows(model);
  absl::Status kept =
      dictionary_->Keep(key.tier, key.window_start_ns, key.node, rows.window.tables());
  if (!kept.ok()) return kept;
  return RowsOf(rows, {key.tier, key.node, key.window_start_ns, 0}, mark.ingest_number);
}

absl::StatusOr<std::vector<Row>> Roller::ComputeFromRaw(const DirtyMark& mark) const {
  const uint64_t start_ns = mark.key.window_start_ns;
  std::vector<WindowModel> children;
  absl::Status read = ForEachEpoch(
      *reader_, mark.key.node, start_ns, start_ns + WindowNs(mark.key.tier),
      [&](const RawRow& row, const v1::Schema& schema, const v1::SummaryBody& body) {
        children.push_back(FromSummary(body, schema, PlaceEpoch(body.epoch()), row.key.sequence));
      });
  if (!read.ok()) return read;
  if (children.empty()) return std::vector<Row>();
  return WriteWindow(mark, MergeWindows(children));
}

absl::StatusOr<std::vector<Row>> Roller::ComputeFromFiner(const DirtyMark& mark) const {
  const Tier finer = mark.key.tier == Tier::k1Hour ? Tier::k5Min : Tier::k1Hour;
  const uint64_t start_ns = mark.key.window_start_ns;
  std::vector<WindowModel> children;
  absl::Status bad;
  absl::Status read =
      reader_->ForEachRollup(finer, mark.key.node, start_ns, start_ns + WindowNs(mark.key.tier), {},
                             [&](const RollupRow& row) {
                               absl::StatusOr<std::shared_ptr<const v1::Schema>> schema =
                                   reader_->Schema(row.window.schema_id());
                               if (!schema.ok()) {
                                 bad = schema.status();
                                 return false;
                               }
                               children.push_back(FromRows(row.window, row.vitals, **schema));
                               return true;
                             });
  if (!read.ok()) return read;
  if (!bad.ok()) return bad;
  if (children.empty()) return std::vector<Row>();
  return WriteWindow(mark, MergeWindows(children));
}

absl::StatusOr<std::vector<Row>> Roller::Compute(const DirtyMark& mark) const {
  // Some of its source has expired: the window is sealed and stays as it is.
  if (DayOf(mark.key.window_start_ns) < summaries_->RawFloor()) return std::vector<Row>();
  switch (mark.key.tier) {
    case Tier::kRaw:
      return ComputeSeries(mark);
    case Tier::k5Min:
      return ComputeFromRaw(mark);
    default:
      return ComputeFromFiner(mark);
  }
}

absl::Status Roller::Commit(const std::vector<DirtyMark>& done) {
  DirtyWindows& dirty = summaries_->dirty();
  std::lock_guard<std::mutex> lock(line_mutex_);
  std::unique_ptr<Transaction> transaction = catalog_->Begin();
  std::vector<DirtyMark> coarser;
  for (const DirtyMark& mark : done) {
    if (dirty.Unchanged(mark)) transaction->Delete(EncodeDirtyKey(mark.key));
    if (mark.key.tier == Tier::kRaw) continue;
    const DirtyLineKey line{mark.key.tier,
                            FloorTo(mark.key.window_start_ns, LineBucketNs(mark.key.tier)),
                            mark.key.node / kLineGroupNodes};
    transaction->Put(EncodeDirtyLineKey(line), EncodeU64(mark.ingest_number));
    if (mark.key.tier == Tier::k1Day) continue;
    const Tier next = mark.key.tier == Tier::k5Min ? Tier::k1Hour : Tier::k1Day;
    const DirtyMark parent{{mark.key.node, next, FloorTo(mark.key.window_start_ns, WindowNs(next))},
                           mark.ingest_number};
    uint64_t number = parent.ingest_number;
    absl::StatusOr<std::string> known = transaction->Get(EncodeDirtyKey(parent.key));
    if (known.ok()) {
      absl::StatusOr<uint64_t> before = DecodeU64(*known);
      if (before.ok()) number = std::max(number, *before);
    }
    transaction->Put(EncodeDirtyKey(parent.key), EncodeU64(number));
    coarser.push_back({parent.key, number});
  }
  absl::Status committed = transaction->Commit(Durability::kBuffered);
  if (!committed.ok()) return committed;
  for (const DirtyMark& mark : coarser) dirty.Mark(mark.key, mark.ingest_number);
  for (const DirtyMark& mark : done) dirty.Clear(mark);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> Roller::RunDue(std::span<const uint32_t> nodes, uint64_t now_ns,
                                        uint32_t max_windows) {
  const uint64_t ended_by_ns = now_ns > options_.settle_ns ? now_ns - options_.settle_ns : 0;
  uint32_t total = 0;
  // A computed window makes its parent dirty: go round until nothing is due.
  while (total < max_windows) {
    std::vector<DirtyMark> done;
    std::vector<Row> rows;
    for (uint32_t node : nodes) {
      const size_t room = max_windows - total - done.size();
      if (room == 0) break;
      for (const DirtyMark& mark : summaries_->dirty().Due(node, ended_by_ns, room)) {
        absl::StatusOr<std::vector<Row>> computed = Compute(mark);
        if (!computed.ok()) return computed.status();
        std::move(computed->begin(), computed->end(), std::back_inserter(rows));
        done.push_back(mark);
      }
    }
    if (done.empty()) break;
    absl::Status appended = history_->Append(rows);
    if (!appended.ok()) return appended;
    absl::Status synced = history_->Sync();
    if (!synced.ok()) return synced;
    absl::Status committed = Commit(done);
    if (!committed.ok()) return committed;
    total += static_cast<uint32_t>(done.size());
  }
  return total;
}

absl::StatusOr<std::vector<Row>> Roller::ComputeLines(const DirtyLineKey& key) const {
  std::vector<LineWindow> windows;
  const uint64_t window_ns = WindowNs(key.tier);
  const uint32_t count = static_cast<uint32_t>(LineBucketNs(key.tier) / window_ns);
  for (uint32_t in_group = 0; in_group < kLineGroupNodes; ++in_group) {
    const uint32_t node = key.group * kLineGroupNodes + in_group;
    if (!reader_->Node(node).has_value()) continue;
    for (uint32_t index = 0; index < count; ++index) {
      const RollupKey row_key{key.tier, node, key.bucket_start_ns + index * window_ns, 0};
      absl::StatusOr<std::string> value = history_->Get(Family::kRollup, EncodeRollupKey(row_key));
      if (absl::IsNotFound(value.status())) continue;
      if (!value.ok()) return value.status();
      absl::StatusOr<v1::RollupWindow> window =
          DecodeValue<v1::RollupWindow>(*value, "rollup window");
      if (!window.ok()) return window.status();
      windows.push_back({node, index, *std::move(window)});
    }
  }
  std::vector<Row> rows;
  for (const auto& [vital, block] : MakeLineBlocks(windows)) {
    rows.push_back({Family::kLine, EncodeLineKey({key.tier, vital, key.bucket_start_ns, key.group}),
                    EncodeValue(block), 0});
  }
  return rows;
}

absl::StatusOr<uint32_t> Roller::RunLines(uint64_t now_ns, uint32_t max_blocks) {
  struct Mark {
    DirtyLineKey key;
    std::string value;
  };
  std::vector<Mark> due;
  absl::Status bad;
  const std::string prefix = TablePrefix(CatalogTable::kDirtyLines);
  absl::Status scanned = catalog_->Begin()->Scan(
      prefix, PrefixEnd(prefix), [&](std::string_view bytes, std::string_view value) {
        absl::StatusOr<DirtyLineKey> key = DecodeDirtyLineKey(bytes);
        if (!key.ok()) {
          bad = key.status();
          return false;
        }
        const bool over =
            key->bucket_start_ns + LineBucketNs(key->tier) + options_.settle_ns <= now_ns;
        auto built = built_ns_.find(*key);
        const bool again =
            built == built_ns_.end() || built->second + WindowNs(key->tier) <= now_ns;
        if (over || again) due.push_back({*key, std::string(value)});
        return due.size() < max_blocks;
      });
  if (!scanned.ok()) return scanned;
  if (!bad.ok()) return bad;
  std::vector<Row> rows;
  for (const Mark& mark : due) {
    absl::StatusOr<std::vector<Row>> computed = ComputeLines(mark.key);
    if (!computed.ok()) return computed.status();
    std::move(computed->begin(), computed->end(), std::back_inserter(rows));
  }
  if (due.empty()) return 0;
  absl::Status appended = history_->Append(rows);
  if (!appended.ok()) return appended;
  absl::Status synced = history_->Sync();
  if (!synced.ok()) return synced;

  std::lock_guard<std::mutex> lock(line_mutex_);
  std::unique_ptr<Transaction> transaction = catalog_->Begin();
  for (const Mark& mark : due) {
    const std::string key = EncodeDirtyLineKey(mark.key);
    absl::StatusOr<std::string> now = transaction->Get(key);
    if (now.ok() && *now == mark.value) transaction->Delete(key);
    if (mark.key.bucket_start_ns + LineBucketNs(mark.key.tier) + options_.settle_ns <= now_ns) {
      built_ns_.erase(mark.key);
    } else {
      built_ns_[mark.key] = now_ns;
    }
  }
  absl::Status committed = transaction->Commit(Durability::kBuffered);
  if (!committed.ok()) return committed;
  return static_cast<uint32_t>(due.size());
}

}  // namespace telltale::storage
