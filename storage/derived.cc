#include "storage/derived.h"

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/catalog_damage.h"
#include "storage/placement.h"
#include "storage/reader.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

constexpr char kWhyNumbers[] = "a filter could be given another's number";

}  // namespace

DerivedStore::DerivedStore(History* history, Catalog* catalog, const Reader* reader)
    : history_(history), catalog_(catalog), reader_(reader) {}

absl::StatusOr<uint32_t> DerivedStore::FilterNumber(std::string_view name, uint32_t version) {
  if (name.empty() || name.size() > 128) {
    return absl::InvalidArgumentError(
        absl::StrCat("register filter: name of ", name.size(), " bytes, want 1..128"));
  }
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string key = FilterNumberKey(name, version);
  std::unique_ptr<Transaction> transaction = catalog_->Begin();
  absl::StatusOr<std::string> known = transaction->Get(key);
  if (known.ok()) {
    absl::StatusOr<uint64_t> number = DecodeU64(*known);
    if (!number.ok()) return number.status();
    return static_cast<uint32_t>(*number);
  }
  if (!absl::IsNotFound(known.status())) return NeededWhole(known.status(), key, kWhyNumbers);
  uint32_t count = 0;
  const absl::Status counted = ReadWhole(*catalog_, TablePrefix(CatalogTable::kFilterNumbers),
                                         kWhyNumbers, [&count](std::string_view, std::string_view) {
                                           ++count;
                                           return absl::OkStatus();
                                         });
  if (!counted.ok()) return counted;
  const uint32_t number = count + 1;
  transaction->Put(key, EncodeU64(number));
  absl::Status committed = transaction->Commit(Durability::kDurable);
  if (!committed.ok()) return committed;
  return number;
}

absl::StatusOr<std::vector<std::pair<std::string, uint32_t>>> DerivedStore::Filters() const {
  std::vector<std::pair<std::string, uint32_t>> filters;
  const absl::Status read = ReadWhole(
      *catalog_, TablePrefix(CatalogTable::kFilterNumbers), kWhyNumbers,
      [&filters](std::string_view key, std::string_view) {
        absl::StatusOr<std::pair<std::string, uint32_t>> filter = DecodeFilterNumberKey(key);
        if (filter.ok()) filters.push_back(*std::move(filter));
        return filter.status();
      });
  if (!read.ok()) return read;
  return filters;
}

absl::Status DerivedStore::Put(const DerivedKey& key, std::string_view value, uint64_t version) {
  const Row row{Family::kDerived, EncodeDerivedKey(key), VersionedValue(value), version};
  return history_->Append({&row, 1});
}

absl::Status DerivedStore::Sync() { return history_->Sync(); }

absl::StatusOr<std::string> DerivedStore::Get(const DerivedKey& key) const {
  absl::StatusOr<std::string> value = history_->Get(Family::kDerived, EncodeDerivedKey(key));
  if (!value.ok()) return value.status();
  absl::StatusOr<std::string_view> content = ValueContent(*value, "derived row");
  if (!content.ok()) return content.status();
  return std::string(*content);
}

absl::Status DerivedStore::ForEach(uint32_t filter, uint64_t from_ns, uint64_t to_ns,
                                   const Visitor& visit, uint64_t* unreadable) const {
  if (to_ns <= from_ns) return absl::OkStatus();
  // The day leads the key: rows of the first and last day outside the range are passed over.
  const std::string begin = EncodeDerivedKey({filter, 0, FloorTo(from_ns, kDayNs)});
  const std::string end =
      PrefixEnd(EncodeDerivedKey({filter, UINT32_MAX, FloorTo(to_ns - 1, kDayNs) + 23 * kHourNs}));
  return ScanKeys(begin, end, from_ns, to_ns, visit, unreadable);
}

absl::Status DerivedStore::ForEachOf(uint32_t filter, std::span<const uint32_t> nodes,
                                     uint64_t from_ns, uint64_t to_ns, const Visitor& visit,
                                     uint64_t* unreadable) const {
  bool goes_on = true;
  const Visitor until = [&](const DerivedKey& key, std::string_view value) {
    return goes_on = visit(key, value);
  };
  for (uint64_t day_ns = FloorTo(from_ns, kDayNs); day_ns < to_ns; day_ns += kDayNs) {
    for (const uint32_t node : nodes) {
      const std::string begin = EncodeDerivedKey({filter, node, day_ns});
      const std::string end = PrefixEnd(EncodeDerivedKey({filter, node, day_ns + 23 * kHourNs}));
      absl::Status scanned = ScanKeys(begin, end, from_ns, to_ns, until, unreadable);
      if (!scanned.ok() || !goes_on) return scanned;
    }
  }
  return absl::OkStatus();
}

absl::Status DerivedStore::ScanKeys(std::string_view begin, std::string_view end, uint64_t from_ns,
                                    uint64_t to_ns, const Visitor& visit,
                                    uint64_t* unreadable) const {
  const auto leave_out = [&](uint64_t rows, bool told = false) {
    if (unreadable != nullptr) *unreadable += rows;
    if (reader_ != nullptr && !told) reader_->CountUnreadable(Family::kDerived, rows);
    return true;
  };
  return history_->ScanOver(
      Family::kDerived, begin, end,
      [&](std::string_view bytes, std::string_view value) {
        absl::StatusOr<DerivedKey> key = DecodeDerivedKey(bytes);
        if (!key.ok()) return leave_out(1);
        if (key->hour_start_ns < from_ns || key->hour_start_ns >= to_ns) return true;
        absl::StatusOr<std::string_view> content = ValueContent(value, "derived row");
        if (!content.ok()) return leave_out(1, IsToldLoss(content.status()));
        return visit(*key, *content);
      },
      [&](const DamagedRange& range) { leave_out(range.rows); });
}

absl::Status DerivedStore::PutState(std::string_view name, std::string_view value,
                                    Durability durability) {
  return PutStates({{std::string(name), std::string(value)}}, durability);
}

absl::Status DerivedStore::PutStates(const std::vector<std::pair<std::string, std::string>>& states,
                                     Durability durability) {
  std::unique_ptr<Transaction> transaction = catalog_->Begin();
  for (const auto& [name, value] : states) {
    if (name.empty() || name.size() > 256 || value.size() > kMaxStateBytes) {
      return absl::InvalidArgumentError(absl::StrCat("store filter state: name of ", name.size(),
                                                     " bytes (1..256), value of ", value.size(),
                                                     " bytes (limit ", kMaxStateBytes, ")"));
    }
    transaction->Put(FilterStateKey(name), value);
  }
  return transaction->Commit(durability);
}

absl::StatusOr<std::string> DerivedStore::GetState(std::string_view name) const {
  return catalog_->Begin()->Get(FilterStateKey(name));
}

void DerivedStore::NoteLost(uint64_t values, std::string_view what, std::string_view then,
                            std::string_view fault) const {
  NoteLostRows(*catalog_, values, what, then, fault);
}

absl::Status DerivedStore::StateNeeded(absl::Status status, std::string_view name,
                                       std::string_view why) const {
  return NeededWhole(std::move(status), FilterStateKey(name), why);
}

}  // namespace telltale::storage
