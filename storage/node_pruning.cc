#include "storage/node_pruning.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/keys.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

void PruneLedgers(uint32_t node, PruneFloors floors, NodeBook* book, Transaction* transaction) {
  std::vector<std::pair<uint16_t, Incarnation>> idle;  // by their last day
  for (auto& [incarnation, ledger] : book->ledgers) {
    ledger.Expire(floors.raw_day, floors.coverage_day * kDayNs);
    if (ledger.last_day() < floors.raw_day) idle.emplace_back(ledger.last_day(), incarnation);
    transaction->Put(LedgerKey(node, incarnation), EncodeValue(ledger.ToRecord()));
  }
  if (idle.size() <= kIdleLedgers) return;
  std::sort(idle.begin(), idle.end());
  idle.resize(idle.size() - kIdleLedgers);
  for (const auto& [day, incarnation] : idle) {
    const SequenceLedger& ledger = book->ledgers[incarnation];
    book->counters.forgotten_lost += ledger.lost_count() + ledger.missing_count();
    book->ledgers.erase(incarnation);
    transaction->Delete(LedgerKey(node, incarnation));
  }
}

absl::Status PruneCoverage(uint32_t node, uint16_t first_day, Transaction* transaction) {
  if (first_day == 0) return absl::OkStatus();
  // One day more is kept: it holds the epoch across midnight and the stop that explains a silence.
  std::vector<std::string> expired;
  absl::Status scanned = transaction->ScanOver(
      CoverageKey(node, 0), CoverageKey(node, static_cast<uint16_t>(first_day - 1)),
      [&](std::string_view key, std::string_view) {
        expired.emplace_back(key);
        return true;
      },
      [](const DamagedRange&) {});  // they have expired, too
  for (const std::string& key : expired) transaction->Delete(key);
  return scanned;
}

// Not the one seen last, and not those an operator has yet to decide about or has decided about.
void PruneIncarnations(uint64_t before_ns, NodeRecord& record) {
  uint64_t last_ns = 0;
  for (const v1::KnownIncarnation& known : record.incarnations()) {
    last_ns = std::max(last_ns, known.last_seen_ns());
  }
  auto* known = record.mutable_incarnations();
  const auto gone =
      std::remove_if(known->begin(), known->end(), [&](const v1::KnownIncarnation& one) {
        return one.last_seen_ns() < before_ns && one.last_seen_ns() != last_ns &&
               one.status() == v1::INCARNATION_STATUS_COUNTED && !one.kept();
      });
  record.set_incarnations_forgotten(record.incarnations_forgotten() +
                                    static_cast<uint64_t>(known->end() - gone));
  known->erase(gone, known->end());
}

}  // namespace

absl::Status PruneNode(const SummaryStoreOptions& options, uint32_t node, PruneFloors floors,
                       NodeBook* book) {
  std::unique_ptr<Transaction> transaction = options.catalog->Begin();
  PruneLedgers(node, floors, book, transaction.get());
  absl::Status covered = PruneCoverage(node, floors.coverage_day, transaction.get());
  if (!covered.ok()) return covered;
  std::erase_if(book->schemas, [&](const auto& schema) {
    const NodeBook::SchemaUse& use = schema.second;
    return use.used ? use.day < floors.coverage_day : use.day + kUnusedSchemaDays < floors.today;
  });
  book->pruned_day = floors.raw_day;
  transaction->Put(CountersKey(node), EncodeValue(EncodeCounters(*book)));
  absl::StatusOr<NodeRecord> record = options.registry->Stage(
      node, transaction.get(),
      [&](NodeRecord& changed) { PruneIncarnations(floors.raw_day * kDayNs, changed); });
  if (!record.ok()) return record.status();
  absl::Status committed = transaction->Commit(Durability::kBuffered);
  if (committed.ok()) options.registry->Publish(*std::move(record));
  return committed;
}

}  // namespace telltale::storage
