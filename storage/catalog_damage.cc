#include "storage/catalog_damage.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/keys.h"

namespace telltale::storage {
namespace {

constexpr size_t kMostKeyBytes = 24;  // shown of a key
// Tables of the collector's own (FORMAT.md).
constexpr uint8_t kTokens = 0x0d, kAudit = 0x0e, kNotes = 0x0f, kEnrolment = 0x14;

std::string Hex(std::string_view key) {
  return absl::StrCat(absl::BytesToHexString(std::string(key.substr(0, kMostKeyBytes))),
                      key.size() > kMostKeyBytes ? "..." : "");
}

std::string Place(std::string_view prefix, const DamagedRange& range) {
  return absl::StrCat("family default, table of ", CatalogTableName(prefix), ", keys ",
                      range.after.empty() ? "from " : "behind ",
                      Hex(range.after.empty() ? prefix : range.after), " to before ",
                      Hex(range.before.empty() ? PrefixEnd(prefix) : range.before));
}

absl::Status Refusal(const std::string& place, std::string_view fault, std::string_view why) {
  return absl::DataLossError(absl::StrCat(
      "read catalog: ", place, ", cannot be read: ", std::string(fault), "; without it ",
      std::string(why),
      ", so it does not start; telltale-collector verify names all that is damaged, "
      "telltale-collector restore BACKUP --data EMPTY brings a backup back, agents keep what they "
      "see until then"));
}

}  // namespace

const char* CatalogTableName(std::string_view key) {
  const uint8_t table = key.empty() ? 0 : static_cast<uint8_t>(key[0]);
  if (table == kTokens) return "tokens";
  if (table == kAudit) return "audit";
  if (table == kNotes) return "notes";
  if (table == kEnrolment) return "enrolment";
  switch (static_cast<CatalogTable>(table)) {
    case CatalogTable::kStore:
      return "store";
    case CatalogTable::kNodes:
      return "nodes";
    case CatalogTable::kLedger:
      return "ledgers";
    case CatalogTable::kCoverage:
      return "coverage";
    case CatalogTable::kCounters:
      return "counters";
    case CatalogTable::kDirty:
      return "windows to compute";
    case CatalogTable::kSchemas:
      return "schemas";
    case CatalogTable::kFilterNumbers:
      return "numbers of filters";
    case CatalogTable::kFilterState:
      return "anomaly log, incidents, silences";
    case CatalogTable::kDirtyLines:
      return "graphs to compute";
    case CatalogTable::kBlobs:
      return "blobs";
    case CatalogTable::kBlobAudit:
      return "audit of blobs";
    case CatalogTable::kBlobPieces:
      return "contents of blobs";
  }
  return "unknown table";
}

absl::Status ReadWhole(Catalog& catalog, std::string_view prefix, std::string_view why,
                       const CatalogReader& read) {
  absl::Status bad;
  const std::unique_ptr<Transaction> state = catalog.Begin();
  const absl::Status scanned = state->ScanOver(
      prefix, PrefixEnd(prefix),
      [&](std::string_view key, std::string_view value) {
        if (bad.ok()) bad = NeededWhole(read(key, value), key, why);
        return bad.ok();
      },
      [&](const DamagedRange& range) {
        if (!bad.ok()) return;
        bad = Refusal(Place(prefix, range),
                      absl::StrCat("about ", range.rows, " rows: ", range.why), why);
      });
  if (scanned.ok()) return bad;
  return NeededWhole(scanned, prefix, why);
}

absl::Status NeededWhole(absl::Status status, std::string_view key, std::string_view why) {
  if (!absl::IsDataLoss(status)) return status;
  return Refusal(
      absl::StrCat("family default, table of ", CatalogTableName(key), ", key ", Hex(key)),
      std::string(status.message()), why);
}

absl::StatusOr<LostRows> ReadReadable(Catalog& catalog, std::string_view prefix,
                                      std::string_view what, std::string_view then,
                                      const CatalogReader& read) {
  LostRows lost;
  absl::Status bad;
  std::string first;
  const auto lose = [&](uint64_t rows, std::string fault) {
    if (!lost.any()) first = std::move(fault);
    lost.rows += rows;
  };
  const std::unique_ptr<Transaction> state = catalog.Begin();
  const absl::Status scanned = state->ScanOver(
      prefix, PrefixEnd(prefix),
      [&](std::string_view key, std::string_view value) {
        const absl::Status row = read(key, value);
        if (row.ok()) return true;
        if (!absl::IsDataLoss(row)) {
          bad = row;
          return false;
        }
        catalog.CountUnreadable(1);
        lost.keys.emplace_back(key);
        lose(1, absl::StrCat("key ", Hex(key), ": ", std::string(row.message())));
        return true;
      },
      [&](const DamagedRange& range) {
        lost.ranges.push_back(range);
        lose(std::max<uint64_t>(range.rows, 1),
             absl::StrCat(Place(prefix, range), ": ", range.why));
      });
  if (!scanned.ok()) return scanned;
  if (!bad.ok()) return bad;
  if (lost.any()) NoteLostRows(catalog, lost.rows, what, then, first);
  return lost;
}

void NoteLostRows(Catalog& catalog, uint64_t rows, std::string_view what, std::string_view then,
                  std::string_view fault) {
  catalog.NoteLoss(absl::StrCat("catalog: about ", rows, " ", std::string(what),
                                " cannot be read and are lost: ", std::string(then),
                                "; first: ", std::string(fault),
                                "; telltale-collector verify of a backup names all of them"));
}

absl::Status ReadNeeded(Catalog& catalog) {
  const std::string certificates({static_cast<char>(kEnrolment), '\x02'});
  const auto all = [](std::string_view, std::string_view) { return absl::OkStatus(); };
  absl::Status read = ReadWhole(catalog, TablePrefix(CatalogTable::kFilterNumbers),
                                "a filter's number could be given to another", all);
  if (read.ok()) {
    read = ReadWhole(catalog, certificates, "a node that was revoked could be let in", all);
  }
  for (const char* head : {"anomaly-log/head", "incidents/head"}) {
    const absl::Status got = catalog.Begin()->Get(FilterStateKey(head)).status();
    if (!read.ok() || absl::IsNotFound(got)) continue;
    read = NeededWhole(got, FilterStateKey(head), "a number in it could be given twice");
  }
  return read;
}

}  // namespace telltale::storage
