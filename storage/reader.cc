#include "storage/reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/coverage_rows.h"
#include "storage/raw_value.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

// No epoch is believed to be longer (the codec's limit), so none that overlaps a range begins
// earlier than this.
constexpr uint64_t kLongestEpochNs = 120 * kSecondNs;

absl::Status InRow(const absl::Status& status, std::string_view family, uint32_t node,
                   uint64_t start_ns) {
  absl::Status in_row(status.code(),
                      absl::StrCat(std::string(family), " row of node ", node, " at ",
                                   start_ns / kSecondNs, " s: ", std::string(status.message())));
  if (IsToldLoss(status)) in_row.SetPayload(kToldLossPayload, absl::Cord());
  return in_row;
}

// Whether what this incarnation reports is the node's: not that of a clone or one that was refused.
bool SpeaksForTheNode(const NodeRecord& record, const Incarnation& incarnation) {
  const std::string_view id(reinterpret_cast<const char*>(incarnation.data()), incarnation.size());
  for (const v1::KnownIncarnation& known : record.incarnations()) {
    if (known.id() != id) continue;
    return known.status() != v1::INCARNATION_STATUS_APART &&
           known.status() != v1::INCARNATION_STATUS_REFUSED;
  }
  return true;
}

// How far back a silence is followed to the stop that explains it.
constexpr uint16_t kDaysBack = 62;

// The day before the range, too: it holds the epoch across midnight, and perhaps the stop that
// explains a silence. Of a node that has been stopped since then, the day of its stop, however long
// ago: nothing but silence lies between.
uint16_t FirstCoverageDay(const NodeRecord* record, uint64_t from_ns) {
  const uint16_t before = DayOf(from_ns > kDayNs ? from_ns - kDayNs : 0);
  if (record == nullptr || record->state() != v1::NODE_STATE_STOPPED) return before;
  return std::min(before, DayOf(record->state_since_ns()));
}

}  // namespace

Reader::Reader(const History* history, Catalog* catalog, const NodeRegistry* registry,
               const SummaryStore* summaries, const Dictionary* dictionary)
    : history_(history),
      catalog_(catalog),
      registry_(registry),
      summaries_(summaries),
      dictionary_(dictionary) {}

NodeList Reader::Nodes() const { return registry_->List(); }
std::optional<NodeRecord> Reader::Node(std::string_view name) const {
  return registry_->Find(name);
}
std::optional<NodeRecord> Reader::Node(uint32_t number) const { return registry_->Find(number); }

absl::Status Reader::Skip(const absl::Status& why, const DamagedRow& row,
                          const DamagedVisitor& damaged) const {
  if (!IsToldLoss(why)) CountUnreadable(row.family);
  if (!damaged) return why;
  damaged(row);
  return absl::OkStatus();
}

uint64_t Reader::Unreadable(Family family) const {
  const uint64_t rows = unreadable_[static_cast<size_t>(family)].load(std::memory_order_relaxed);
  return family == Family::kDict ? rows + dictionary_->Unreadable() : rows;
}

uint64_t Reader::NamesContradicted() const { return dictionary_->Contradicted(); }

uint64_t Reader::UnreadableInCatalog() const { return catalog_->Unreadable(); }

void Reader::CountUnreadable(Family family, uint64_t rows) const {
  unreadable_[static_cast<size_t>(family)].fetch_add(rows, std::memory_order_relaxed);
}

absl::Status Reader::ScanRaw(uint32_t node, uint64_t from_ns, uint64_t to_ns, bool apart,
                             const RawVisitor& visit, const DamagedVisitor& damaged) const {
  if (to_ns <= from_ns) return absl::OkStatus();
  const uint64_t earliest = from_ns > kLongestEpochNs ? from_ns - kLongestEpochNs : 0;
  const uint64_t latest =
      to_ns > UINT64_MAX - kLongestEpochNs ? UINT64_MAX : to_ns + kLongestEpochNs;
  // One lookup of the ledgers serves the whole scan: rows committed meanwhile are not seen.
  const auto ledgers = summaries_->Ledgers(node);
  const auto counts = [&](const RawKey& key) {
    for (const auto& [incarnation, ledger] : ledgers) {
      if (incarnation == key.incarnation) return ledger.Received(key.sequence);
    }
    return false;
  };
  const uint32_t last_day = DayOf(latest);
  uint32_t first_day = std::max<uint32_t>(DayOf(earliest), summaries_->RawFloor());
  if (from_ns == 0) first_day = std::max(first_day, FirstDayOf(node));
  bool go_on = true;
  absl::Status bad;
  const auto skip = [&](const absl::Status& why, uint64_t start_ns, uint64_t end_ns) {
    bad = Skip(InRow(why, "raw", node, start_ns),
               {.family = Family::kRaw, .node = node, .start_ns = start_ns, .end_ns = end_ns},
               damaged);
    return go_on = bad.ok();
  };
  for (uint32_t day = first_day; day <= last_day && go_on; ++day) {
    const std::string begin = RawKeyFrom(static_cast<uint16_t>(day), node, earliest);
    const std::string end = RawKeyFrom(static_cast<uint16_t>(day), node, to_ns);
    uint64_t reached_ns = std::max(from_ns, day * kDayNs);
    absl::Status scanned = history_->ScanOver(
        Family::kRaw, begin, end,
        [&](std::string_view bytes, std::string_view value) {
          if (!go_on) return false;
          absl::StatusOr<RawKey> key = DecodeRawKey(bytes);
          if (!key.ok()) return skip(key.status(), reached_ns, reached_ns);
          if (key->apart != apart || (!apart && !counts(*key))) return true;
          absl::StatusOr<RawHeader> header = DecodeRawHeader(value);
          RawRow row;
          row.key = *key;
          row.end_ns = key->start_ns + (header.ok() ? header->length_ns : UsualLengthNs(node));
          if (row.end_ns <= from_ns) return true;
          reached_ns = row.end_ns;
          if (!header.ok()) return skip(header.status(), key->start_ns, row.end_ns);
          row.digest = header->digest;
          absl::StatusOr<v1::Summary> summary = DecodeRawSummary(value);
          if (!summary.ok()) return skip(summary.status(), key->start_ns, row.end_ns);
          row.summary = *std::move(summary);
          return go_on = visit(row);
        },
        [&](const DamagedRange& range) {
          if (!go_on) return;
          const absl::StatusOr<RawKey> behind = DecodeRawKey(range.before);
          const uint64_t known = behind.ok() ? behind->start_ns : (day + 1) * kDayNs;
          skip(absl::DataLossError(range.why), reached_ns,
               std::max(reached_ns, std::min(to_ns, known)));
        });
    if (!scanned.ok()) return scanned;
  }
  return bad;
}

uint64_t Reader::UsualLengthNs(uint32_t node) const {
  const SharedNode record = registry_->Get(node);
  const uint32_t length_s = record == nullptr ? 0 : record->info().epoch_length_s();
  return (length_s == 0 ? 60 : length_s) * kSecondNs;
}

uint32_t Reader::FirstDayOf(uint32_t node) const {
  const SharedNode record = registry_->Get(node);
  return record != nullptr ? DayOf(record->first_epoch_ns()) : 0;
}

absl::Status Reader::ForEachRaw(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                const RawVisitor& visit, const DamagedVisitor& damaged) const {
  // Nothing lies beyond the node's last epoch; open-ended ranges need not walk empty days.
  const SharedNode record = registry_->Get(node);
  if (record == nullptr) return absl::OkStatus();
  const uint64_t end = std::min(to_ns, record->last_epoch_ns() + kLongestEpochNs);
  const uint64_t begin = std::max(from_ns, FloorTo(record->first_epoch_ns(), kDayNs));
  return ScanRaw(node, begin, end, /*apart=*/false, visit, damaged);
}

absl::Status Reader::ForEachApart(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                                  const RawVisitor& visit) const {
  const std::optional<NodeRecord> record = registry_->Find(node);
  if (!record.has_value()) return absl::OkStatus();
  // A clone's clock may be elsewhere, but nothing is taken in that lies in the future of its
  // arrival.
  const uint64_t latest = std::max(record->last_epoch_ns(), record->last_received_ns());
  const uint64_t end = latest == 0 ? to_ns : std::min(to_ns, latest + kDayNs);
  return ScanRaw(node, from_ns, end, /*apart=*/true, visit, {});
}

absl::StatusOr<std::string> Reader::Cells(const RawKey& key) const {
  absl::StatusOr<std::string> value = history_->Get(Family::kCells, EncodeRawKey(key));
  if (!value.ok()) return value.status();
  absl::StatusOr<std::string_view> content = ValueContent(*value, "cells");
  if (!content.ok()) return content.status();
  return std::string(*content);
}

absl::StatusOr<std::shared_ptr<const v1::Schema>> Reader::Schema(uint64_t id) const {
  std::shared_ptr<const v1::Schema> schema = summaries_->FindSchema(id);
  if (schema == nullptr) {
    return absl::NotFoundError(absl::StrCat("find schema: no node ever sent ", absl::Hex(id)));
  }
  return schema;
}

std::optional<std::string> Reader::SymbolName(std::string_view build_id, uint64_t offset,
                                              uint32_t for_node) const {
  return dictionary_->Name(build_id, offset, for_node);
}

NodeCounters Reader::Counters(uint32_t node) const { return summaries_->Counters(node); }

uint64_t Reader::CountedEpochs(uint32_t node) const { return summaries_->CountedEpochs(node); }
std::vector<std::pair<Incarnation, SequenceLedger>> Reader::Ledgers(uint32_t node) const {
  return summaries_->Ledgers(node);
}

absl::StatusOr<CoverageView> Reader::Coverage(uint32_t node, uint64_t from_ns,
                                              uint64_t to_ns) const {
  std::vector<LostRange> lost;
  const SharedNode node_record = registry_->Get(node);
  for (const auto& [incarnation, ledger] : summaries_->Ledgers(node)) {
    if (node_record != nullptr && !SpeaksForTheNode(*node_record, incarnation)) continue;
    lost.insert(lost.end(), ledger.lost().begin(), ledger.lost().end());
  }
  std::sort(lost.begin(), lost.end(),
            [](const LostRange& a, const LostRange& b) { return a.start_ns < b.start_ns; });
  const uint16_t first_day = FirstCoverageDay(node_record.get(), from_ns);
  const std::unique_ptr<Transaction> state = catalog_->Begin();
  absl::StatusOr<CoverageDays> days =
      ReadCoverageDays(*catalog_, *state, node, first_day, DayOf(to_ns));
  if (!days.ok()) return days.status();
  const auto begun = [&](uint64_t time_ns) { return time_ns <= from_ns; };
  if (std::ranges::none_of(days->pieces, begun, &CoveragePiece::start_ns) &&
      std::ranges::none_of(days->stops, begun, &PlannedStop::time_ns)) {
    // It was silent already: why, the last day says on which anything was heard.
    for (uint16_t back = 1; back <= kDaysBack && back <= first_day; ++back) {
      const auto day =
          ReadCoverageDay(*catalog_, *state, node, static_cast<uint16_t>(first_day - back));
      if (!day.ok()) return day.status();
      if (day->pieces().empty() && day->stops().empty()) continue;
      days->Add(*day);
      break;
    }
    days->Sort();
  }
  CoverageView view = ViewCoverage(days->pieces, days->stops, lost, from_ns, to_ns);
  for (Gap& gap : view.gaps) {
    if (gap.cause != Gap::Cause::kMissing) continue;
    const auto in_gap = [&gap](uint16_t day) {
      return gap.start_ns < (day + 1) * kDayNs && gap.end_ns > day * kDayNs;
    };
    if (std::ranges::any_of(days->unreadable, in_gap)) {
      gap.detail = "what was watched then cannot be read: the store is damaged there";
    }
  }
  return view;
}

absl::StatusOr<uint64_t> Reader::DirtyWindows() const { return summaries_->dirty().size(); }

uint64_t Reader::StoredSummaries() const {
  uint64_t stored = 0;
  const size_t nodes = registry_->size();
  for (uint32_t node = 1; node <= nodes; ++node) stored += summaries_->CountedEpochs(node);
  return stored;
}

}  // namespace telltale::storage
