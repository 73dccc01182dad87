#include "storage/rollup/roller.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
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

std::string NameOf(Tier tier) {
  switch (tier) {
    case Tier::kRaw:
      return "series block of an hour";
    case Tier::k5Min:
      return "window of 5 min";
    case Tier::k1Hour:
      return "window of 1 h";
    case Tier::k1Day:
      return "window of 1 d";
  }
  return "window";
}

// The windows of one call that could not be computed; the first is told.
class Failures {
 public:
  void Add(const DirtyKey& key, const absl::Status& status) {
    if (count_++ != 0) return;
    key_ = key;
    first_ = status;
  }
  // OK: there were none.
  absl::Status Told() const {
    if (count_ == 0) return absl::OkStatus();
    const std::string others =
        count_ == 1 ? "" : absl::StrCat(" (and ", count_ - 1, " more windows)");
    return {first_.code(), absl::StrCat("compute ", NameOf(key_.tier), " of node ", key_.node,
                                        " from ", key_.window_start_ns / kSecondNs,
                                        " s since 1970: ", std::string(first_.message()), others,
                                        "; it waits and the others go on, `telltale-collector "
                                        "verify` of a backup says what is damaged")};
  }

 private:
  uint32_t count_ = 0;
  DirtyKey key_;
  absl::Status first_;
};

}  // namespace

Roller::Roller(RollerOptions options, History* history, Catalog* catalog, const Reader* reader,
               const SummaryStore* summaries, Dictionary* dictionary)
    : options_(options),
      history_(history),
      catalog_(catalog),
      recompute_(history, reader),
      summaries_(summaries),
      dictionary_(dictionary) {}

bool Roller::IsSealed(const DirtyKey& key) const {
  return DayOf(key.window_start_ns) < summaries_->RawFloor();
}

absl::StatusOr<std::vector<Row>> Roller::Compute(const DirtyMark& mark) const {
  const DirtyKey& key = mark.key;
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
  std::set<DirtyLineKey> lines;
  for (const DirtyMark& mark : done) {
    if (dirty.Unchanged(mark)) transaction->Delete(EncodeDirtyKey(mark.key));
    if (mark.key.tier == Tier::kRaw) continue;
    const DirtyLineKey line{mark.key.tier,
                            FloorTo(mark.key.window_start_ns, LineBucketNs(mark.key.tier)),
                            mark.key.node / kLineGroupNodes};
    marked_lines_.insert(line);
    lines.insert(line);
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
  // What moves on is in both before it is in one alone.
  for (const DirtyLineKey& line : lines) summaries_->lines().Mark(line);
  for (const DirtyMark& mark : coarser) dirty.Mark(mark.key, mark.ingest_number);
  for (const DirtyMark& mark : done) dirty.Clear(mark);
  return absl::OkStatus();
}

uint64_t Roller::MostApartNs(Tier tier) const {
  return options_.most_apart_ns * (tier == Tier::k5Min ? 1 : options_.hours_apart);
}

uint64_t Roller::WaitsNs(Tier tier, uint32_t node) const {
  const uint64_t apart_ns = options_.apart_ns * (tier == Tier::k5Min ? 1 : options_.hours_apart);
  return options_.settle_ns + uint64_t{node - 1} * apart_ns % MostApartNs(tier);
}

size_t Roller::FailedOf(uint32_t node) const {
  const auto first = failed_ns_.lower_bound(DirtyKey{node, Tier::kRaw, 0});
  const auto last = failed_ns_.upper_bound(DirtyKey{node, Tier::k1Day, UINT64_MAX});
  return static_cast<size_t>(std::distance(first, last));
}

void Roller::NoteFailed(const DirtyKey& key, uint64_t now_ns) {
  std::lock_guard<std::mutex> lock(failed_mutex_);
  failed_ns_[key] = now_ns;
}

void Roller::NoteComputed(const DirtyKey& key) {
  std::lock_guard<std::mutex> lock(failed_mutex_);
  failed_ns_.erase(key);
}

std::vector<DirtyMark> Roller::NextDue(std::span<const uint32_t> nodes, uint64_t now_ns,
                                       size_t limit) const {
  struct Failed {
    uint64_t tried_ns = 0;
    DirtyMark mark;
  };
  std::vector<DirtyMark> fresh;
  std::vector<Failed> again;
  std::lock_guard<std::mutex> lock(failed_mutex_);
  for (uint32_t node : nodes) {
    if (fresh.size() >= limit) break;
    const auto ended_by_ns = [&](Tier tier) {
      return now_ns - std::min(now_ns, WaitsNs(tier, node));
    };
    const DirtyWindows::EndedBy ended_by{ended_by_ns(Tier::k5Min), ended_by_ns(Tier::k1Hour)};
    // Those that failed may all come first.
    const size_t enough = limit - fresh.size() + FailedOf(node);
    for (const DirtyMark& mark : summaries_->dirty().Due(node, ended_by, enough)) {
      const auto failed = failed_ns_.find(mark.key);
      if (failed == failed_ns_.end()) {
        if (fresh.size() < limit) fresh.push_back(mark);
      } else if (now_ns - failed->second >= options_.retry_ns) {
        // Also when the clock was set back: the difference wraps round.
        again.push_back({failed->second, mark});
      }
    }
  }
  if (!fresh.empty()) return fresh;
  std::stable_sort(again.begin(), again.end(),
                   [](const Failed& a, const Failed& b) { return a.tried_ns < b.tried_ns; });
  std::vector<DirtyMark> retried;
  for (const Failed& failed : again) {
    if (retried.size() < limit) retried.push_back(failed.mark);
  }
  return retried;
}

absl::StatusOr<uint32_t> Roller::RunDue(std::span<const uint32_t> nodes, uint64_t now_ns,
                                        uint32_t max_windows, uint64_t* expired) {
  uint32_t total = 0;
  uint32_t tried = 0;
  Failures failures;
  const auto begun = std::chrono::steady_clock::now();
  const auto turn_is_over = [&] {
    return options_.turn_ns != 0 &&
           std::chrono::steady_clock::now() - begun >= std::chrono::nanoseconds(options_.turn_ns);
  };
  bool over = false;
  // A computed window makes its parent dirty: go round until nothing is due. One that fails counts
  // as tried, so that each round comes nearer to the end.
  while (tried < max_windows && !over) {
    const std::vector<DirtyMark> due = NextDue(nodes, now_ns, max_windows - tried);
    if (due.empty()) break;
    std::vector<DirtyMark> done;
    std::vector<Row> rows;
    uint64_t sealed = 0;  // of 5 minutes
    for (const DirtyMark& mark : due) {
      over = tried > 0 && turn_is_over();
      if (over) break;
      ++tried;
      const bool is_sealed = IsSealed(mark.key);
      if (is_sealed && mark.key.tier == Tier::k5Min) ++sealed;
      absl::StatusOr<std::vector<Row>> computed = is_sealed ? std::vector<Row>() : Compute(mark);
      // The disk is full: not this window's fault, and the others could not be written either.
      if (absl::IsResourceExhausted(computed.status())) return computed.status();
      if (!computed.ok()) {
        NoteFailed(mark.key, now_ns);
        failures.Add(mark.key, computed.status());
        continue;
      }
      NoteComputed(mark.key);
      std::move(computed->begin(), computed->end(), std::back_inserter(rows));
      done.push_back(mark);
    }
    if (done.empty()) continue;
    absl::Status appended = history_->Append(rows);
    if (!appended.ok()) return appended;
    absl::Status synced = history_->Sync();
    if (!synced.ok()) return synced;
    absl::Status committed = Commit(done);
    if (!committed.ok()) return committed;
    total += static_cast<uint32_t>(done.size());
    if (expired != nullptr) *expired += sealed;
  }
  absl::Status failed = failures.Told();
  if (!failed.ok()) return failed;
  return total;
}

uint64_t Roller::GroupWaitsNs(Tier tier, uint32_t group) const {
  const uint32_t first = group * kLineGroupNodes, last = first + kLineGroupNodes - 1;
  const uint64_t of_first = WaitsNs(tier, std::max(first, 1u)), of_last = WaitsNs(tier, last);
  // Between the two it may begin anew.
  return of_first <= of_last ? of_last : options_.settle_ns + MostApartNs(tier);
}

uint64_t Roller::AllThereNs(const DirtyLineKey& key, uint64_t now_ns) const {
  const uint64_t waits_ns = GroupWaitsNs(key.tier, key.group);
  return FloorTo(now_ns - std::min(now_ns, waits_ns), WindowNs(key.tier)) + waits_ns;
}

bool Roller::IsOver(const DirtyLineKey& key, uint64_t now_ns) const {
  return key.bucket_start_ns + LineBucketNs(key.tier) + GroupWaitsNs(key.tier, key.group) <= now_ns;
}

absl::StatusOr<uint32_t> Roller::RunLines(uint64_t now_ns, uint32_t max_blocks) {
  {
    std::lock_guard<std::mutex> lock(line_mutex_);
    marked_lines_.clear();
  }
  std::vector<DirtyLineKey> due;
  for (const DirtyLineKey& key : summaries_->lines().All()) {
    if (due.size() >= max_blocks) break;
    const bool over = IsOver(key, now_ns);
    const auto built = built_ns_.find(key);
    // Built while windows of some nodes are still to come, it would be behind until the next ones.
    const bool again = built == built_ns_.end() || built->second < AllThereNs(key, now_ns);
    if (over || again) due.push_back(key);
  }
  std::vector<Row> rows;
  for (const DirtyLineKey& line : due) {
    auto blocks = recompute_.Lines(line);
    if (!blocks.ok()) return blocks.status();
    for (const auto& [vital, block] : *blocks) {
      const LineKey key{line.tier, vital, line.bucket_start_ns, line.group};
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
  for (const DirtyLineKey& line : due) {
    if (!marked_lines_.contains(line)) transaction->Delete(EncodeDirtyLineKey(line));
    if (IsOver(line, now_ns)) {
      built_ns_.erase(line);
    } else {
      built_ns_[line] = now_ns;
    }
  }
  absl::Status committed = transaction->Commit(Durability::kBuffered);
  if (!committed.ok()) return committed;
  for (const DirtyLineKey& line : due) {
    if (!marked_lines_.contains(line)) summaries_->lines().Clear(line);
  }
  return static_cast<uint32_t>(due.size());
}

}  // namespace telltale::storage
