#include "storage/rollup/roller.h"

#include <algorithm>
#include <utility>

#include "storage/placement.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

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

}  // namespace

Roller::Roller(RollerOptions options, History* history, Catalog* catalog, const Reader* reader,
               const SummaryStore* summaries, Dictionary* dictionary)
    : options_(options),
      history_(history),
      catalog_(catalog),
      recompute_(history, reader),
      summaries_(summaries),
      dictionary_(dictionary) {}

absl::StatusOr<std::vector<Row>> Roller::Compute(const DirtyMark& mark) const {
  const DirtyKey& key = mark.key;
  // Some of its source has expired: the window is sealed and stays as it is.
  if (DayOf(key.window_start_ns) < summaries_->RawFloor()) return std::vector<Row>();
  if (key.tier == Tier::kRaw) {
    auto block = recompute_.Series(key.node, key.window_start_ns);
    if (!block.ok()) return block.status();
    if (!block->has_value()) return std::vector<Row>();
    return std::vector<Row>{{Family::kSeries, EncodeSeriesKey({key.node, key.window_start_ns}),
                             EncodeValue(**block), mark.ingest_number}};
  }
  auto rows = recompute_.Window(key.tier, key.node, key.window_start_ns);
  if (!rows.ok()) return rows.status();
  if (!rows->has_value()) return std::vector<Row>();
  // What its locations are called is kept as long as they are.
  absl::Status kept =
      dictionary_->Keep(key.tier, key.window_start_ns, key.node, (*rows)->window.tables());
  if (!kept.ok()) return kept;
  return RowsOf(**rows, {key.tier, key.node, key.window_start_ns, 0}, mark.ingest_number);
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
    auto blocks = recompute_.Lines(mark.key);
    if (!blocks.ok()) return blocks.status();
    for (const auto& [vital, block] : *blocks) {
      const LineKey key{mark.key.tier, vital, mark.key.bucket_start_ns, mark.key.group};
      rows.push_back({Family::kLine, EncodeLineKey(key), EncodeValue(block), 0});
    }
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
