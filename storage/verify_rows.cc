#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rocksdb/env.h"
#include "storage/blob_rows.h"
#include "storage/data_directory.h"
#include "storage/ledger.h"
#include "storage/node_book.h"
#include "storage/rocks_catalog.h"
#include "storage/rocks_database.h"
#include "storage/rocks_history.h"
#include "storage/stored_value.h"
#include "storage/verify.h"
#include "storage/verify_blobs.h"
#include "storage/verify_damage.h"

namespace telltale::storage {
namespace {

constexpr uint64_t kWatchRowsEvery = 4096;  // rows

absl::Status CheckCounters(std::string_view value) {
  const auto record = DecodeValue<v1::CountersRecord>(value, "counters");
  NodeBook book;
  return record.ok() ? DecodeCounters(*record, &book) : record.status();
}

}  // namespace

absl::Status CheckCatalogRow(std::string_view key, std::string_view value) {
  if (IsLostValue(value)) return absl::OkStatus();  // it is one that says so
  switch (static_cast<CatalogTable>(key.empty() ? 0 : key[0])) {
    case CatalogTable::kNodes:
      return DecodeValue<v1::NodeRecord>(value, "node record").status();
    case CatalogTable::kLedger: {
      const auto record = DecodeValue<v1::LedgerRecord>(value, "ledger");
      return record.ok() ? SequenceLedger::FromRecord(*record).status() : record.status();
    }
    case CatalogTable::kCoverage: {
      const auto record = DecodeValue<v1::CoverageRecord>(value, "coverage");
      return record.ok() ? CoverageDay::FromRecord(*record).status() : record.status();
    }
    case CatalogTable::kCounters:
      return CheckCounters(value);
    case CatalogTable::kSchemas:
      return DecodeValue<v1::Schema>(value, "schema").status();
    case CatalogTable::kDirtyLines:
      return DecodeDirtyLineKey(key).status();
    case CatalogTable::kFilterNumbers:
      return DecodeU64(value).status();
    case CatalogTable::kBlobs:
      return DecodeBlobRecord(key, value).status();
    case CatalogTable::kBlobAudit:
      return DecodeValue<v1::StoredBlobAudit>(value, "blob audit").status();
    default:
      return absl::OkStatus();
  }
}

absl::StatusOr<VerifyReport> VerifyRows(const StoreOptions& store, const VerifyOptions& options) {
  rocksdb::Env* const env = store.env != nullptr ? store.env : rocksdb::Env::Default();
  const absl::StatusOr<DirectoryHold> hold = DirectoryHold::Take(env, store.path);
  if (!hold.ok()) return hold.status();
  const auto database = RocksDatabase::Open({.path = store.path + "/rocks",
                                             .env = store.env,
                                             .memory_bytes = store.memory_bytes,
                                             .read_only = true});
  if (!database.ok()) return database.status();
  const RocksHistory history(database->get());
  VerifyReport report;
  size_t described = 0;
  uint64_t done = 0;
  bool stopped = false;
  const auto fault = [&](std::string place, std::string what) {
    ++report.fault_count;
    if (described++ < options.max_faults)
      report.faults.push_back({std::move(place), std::move(what)});
  };
  const auto watch = [&](std::string_view step) {
    if (options.watch && !stopped) stopped = !options.watch(step, done, 0);
  };
  const NodeNames numbers = [](uint32_t node) { return absl::StrCat("number ", node); };
  const auto read = [&](const std::string& name, const auto& scan, const auto& check) {
    described = 0;
    watch(name);
    const absl::Status scanned = scan(
        [&](std::string_view key, std::string_view value) {
          ++report.rows;
          if (++done % kWatchRowsEvery == 0) watch(name);
          if (const absl::Status row = check(key, value); !row.ok()) {
            fault(name, std::string(row.message()));
          }
          return !stopped;
        },
        [&](const DamagedRange& range) {
          report.losses[name].Add(range);
          fault(DamagePlace(name, range, numbers), DamageText(range));
        });
    if (!scanned.ok()) {
      fault(name + "; the rest of it was not read", std::string(scanned.message()));
    }
  };
  const absl::Status files = (*database)->CheckFiles(
      [&](const std::string& name, const std::string& family, const absl::Status& bad) {
        fault("files", BadFileText(name, family, bad));
      },
      [&](uint64_t checked, uint64_t all) {
        stopped = options.watch && !options.watch("files", checked, all);
        return !stopped;
      });
  if (stopped) return absl::CancelledError("verify store: stopped");
  if (!files.ok()) fault("files", std::string(files.message()));
  const std::string pieces = TablePrefix(CatalogTable::kBlobPieces);
  const std::pair<std::string, std::string> around_pieces[] = {{"", pieces},
                                                               {PrefixEnd(pieces), ""}};
  for (const auto& part : around_pieces) {
    read(
        std::string(kCatalogName),
        [&](const RowVisitor& visit, const DamageVisitor& damaged) {
          return (*database)->ScanCatalogOver(part.first, part.second, visit, damaged);
        },
        CheckCatalogRow);
  }
  described = 0;
  watch("blobs");
  RocksCatalog catalog(database->get());
  report.blobs = VerifyBlobs(*catalog.Begin(), fault, [&] {
    ++report.rows;
    watch("blobs");
    return !stopped;
  });
  for (size_t i = 0; i < kFamilies && !stopped; ++i) {
    const Family family = static_cast<Family>(i);
    read(
        std::string(FamilyName(family)),
        [&](const RowVisitor& visit, const DamageVisitor& damaged) {
          return history.ScanOver(family, "", "", visit, damaged);
        },
        [](std::string_view, std::string_view) { return absl::OkStatus(); });
  }
  if (stopped) return absl::CancelledError("verify store: stopped");
  return report;
}

}  // namespace telltale::storage
