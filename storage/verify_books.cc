#include "storage/verify_books.h"

#include <algorithm>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/node_book.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

std::string Hex(const Incarnation& incarnation) {
  return std::string(absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(incarnation.data()), 4)));
}

// Whether a number may lie in a day that has expired.
bool MayHaveExpired(const v1::LedgerRecord& ledger, uint64_t sequence, uint16_t raw_floor) {
  for (int i = 0; i < ledger.day_size(); ++i) {
    if (ledger.day(i) < raw_floor && ledger.day_first(i) <= sequence &&
        sequence <= ledger.day_last(i)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool SequenceSet::Add(uint64_t sequence) {
  auto next = ranges_.upper_bound(sequence);
  auto before = next == ranges_.begin() ? ranges_.end() : std::prev(next);
  if (before != ranges_.end() && before->second >= sequence) return false;
  ++size_;
  uint64_t last = sequence;
  if (next != ranges_.end() && next->first == sequence + 1) {
    last = next->second;
    ranges_.erase(next);
  }
  if (before != ranges_.end() && before->second + 1 == sequence) {
    before->second = last;
  } else {
    ranges_.emplace(sequence, last);
  }
  return true;
}

void SequenceSet::Missing(uint64_t first, uint64_t last,
                          const std::function<void(uint64_t, uint64_t)>& take) const {
  uint64_t at = first;
  auto range = ranges_.upper_bound(first);
  if (range != ranges_.begin()) --range;
  for (; range != ranges_.end() && range->first <= last; ++range) {
    if (range->second < at) continue;
    if (range->first > at) take(at, range->first - 1);
    at = range->second + 1;
  }
  if (at <= last) take(at, last);
}

bool VerifyBooks::Add(const RawKey& key, const v1::SummaryBody& body) {
  Node& node = nodes_[key.node];
  if (!node.read[key.incarnation].Add(key.sequence)) return false;
  ++node.epochs[key.day];
  AddTotals(body, false, &node.sums);
  return true;
}

void VerifyBooks::AddLost(const RawKey& key) {
  Node& node = nodes_[key.node];
  node.lost = true;
  if (!key.apart && node.read[key.incarnation].Add(key.sequence)) ++node.epochs[key.day];
}

uint64_t VerifyBooks::Unread(const Reader& reader, const NodeRecord& record,
                             uint16_t raw_floor) const {
  static const SequenceSet none;
  uint64_t unread = 0;
  const auto node = nodes_.find(record.number());
  for (const auto& [incarnation, ledger] : reader.Ledgers(record.number())) {
    const v1::LedgerRecord listed = ledger.ToRecord();
    const SequenceSet* there = &none;
    if (node != nodes_.end()) {
      const auto read = node->second.read.find(incarnation);
      if (read != node->second.read.end()) there = &read->second;
    }
    for (const auto& [first, last] : ledger.received()) {
      there->Missing(first, last, [&](uint64_t from, uint64_t to) {
        const bool expired =
            MayHaveExpired(listed, from, raw_floor) && MayHaveExpired(listed, to, raw_floor);
        if (!expired) unread += to - from + 1;
      });
    }
  }
  return unread;
}

void VerifyBooks::CompareCoverage(Catalog& catalog, const NodeRecord& record, const Node& node,
                                  uint16_t raw_floor, const Fault& fault) {
  const std::unique_ptr<Transaction> snapshot = catalog.Begin();
  for (const auto& [day, epochs] : node.epochs) {
    if (day < raw_floor) continue;
    const std::string place =
        absl::StrCat("coverage of node ", record.name(), ", day ", day, " since 1970");
    absl::StatusOr<std::string> value = snapshot->Get(CoverageKey(record.number(), day));
    if (!value.ok()) {
      fault(place, std::string(value.status().message()));
      continue;
    }
    auto coverage = DecodeValue<v1::CoverageRecord>(*value, "coverage");
    if (!coverage.ok()) continue;  // was reported where the catalog was read
    uint64_t covered = 0;
    for (const uint32_t in_piece : coverage->epochs()) covered += in_piece;
    if (covered != epochs) {
      fault(place, absl::StrCat("covers ", covered, " epochs, raw has ", epochs));
    }
  }
}

void VerifyBooks::Compare(const Reader& reader, Catalog& catalog, const NodeRecord& record,
                          uint16_t raw_floor, const Fault& fault) const {
  static const Node nothing;
  const auto found = nodes_.find(record.number());
  const Node& node = found == nodes_.end() ? nothing : found->second;
  uint64_t received = 0;
  bool all_there = record.incarnations_forgotten() == 0;
  for (const auto& [incarnation, ledger] : reader.Ledgers(record.number())) {
    const std::string place =
        absl::StrCat("ledger of node ", record.name(), ", agent ", Hex(incarnation));
    const v1::LedgerRecord listed = ledger.ToRecord();
    received += ledger.received_count();
    all_there = all_there && ledger.settled_through() == 0;
    static const SequenceSet none;
    const auto read = node.read.find(incarnation);
    const SequenceSet& there = read == node.read.end() ? none : read->second;
    for (const auto& [first, last] : ledger.received()) {
      there.Missing(first, last, [&](uint64_t from, uint64_t to) {
        if (MayHaveExpired(listed, from, raw_floor) && MayHaveExpired(listed, to, raw_floor)) {
          all_there = false;
          return;
        }
        fault(place, absl::StrCat("lists epochs ", from, " to ", to,
                                  " as received, raw does not have them"));
      });
    }
  }
  CompareCoverage(catalog, record, node, raw_floor, fault);
  const NodeCounters counters = reader.Counters(record.number());
  const std::string place = absl::StrCat("counters of node ", record.name());
  if (counters.epochs < received) {
    fault(place, absl::StrCat("count ", counters.epochs, " epochs, the ledger lists ", received));
  }
  // Sums over what has expired or is lost cannot be taken again.
  if (!all_there || node.lost) return;
  if (counters.epochs != node.sums.epochs) {
    fault(place, absl::StrCat("count ", counters.epochs, " epochs, raw has ", node.sums.epochs));
  }
  for (const auto& [sub, sum] : node.sums.subs) {
    const auto counted = counters.subs.find(sub);
    const Cumulative seen = counted == counters.subs.end() ? Cumulative{} : counted->second;
    if (seen.events == sum.events && seen.weight == sum.weight) continue;
    fault(place, absl::StrCat("vital ", sub.first, "/", sub.second, " counts ", seen.events,
                              " events of weight ", seen.weight, ", raw has ", sum.events, " of ",
                              sum.weight));
  }
}

}  // namespace telltale::storage
