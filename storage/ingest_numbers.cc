#include "storage/ingest_numbers.h"

#include <utility>

#include "storage/catalog_damage.h"
#include "storage/keys.h"
#include "storage/stored_value.h"

namespace telltale::storage {

absl::Status IngestNumbers::Load(Catalog* catalog) {
  std::lock_guard<std::mutex> lock(mutex_);
  catalog_ = catalog;
  absl::StatusOr<std::string> value = catalog->Begin()->Get(StoreRecordKey());
  if (absl::IsNotFound(value.status())) return absl::OkStatus();
  constexpr char kWhy[] = "days that have expired would be taken in again";
  if (!value.ok()) return NeededWhole(value.status(), StoreRecordKey(), kWhy);
  absl::StatusOr<v1::StoreRecord> record = DecodeValue<v1::StoreRecord>(*value, "store record");
  if (!record.ok()) return NeededWhole(record.status(), StoreRecordKey(), kWhy);
  record_ = *std::move(record);
  last_ = record_.ingest_number();
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> IngestNumbers::Next() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (last_ + 1 > record_.ingest_number()) {
    v1::StoreRecord next = record_;
    next.set_ingest_number(last_ + kBlock);
    absl::Status saved = Save(next);
    if (!saved.ok()) return saved;
  }
  return ++last_;
}

uint64_t IngestNumbers::last() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

absl::Status IngestNumbers::UpdateRecord(const std::function<void(v1::StoreRecord&)>& change) {
  std::lock_guard<std::mutex> lock(mutex_);
  v1::StoreRecord next = record_;
  change(next);
  return Save(next);
}

v1::StoreRecord IngestNumbers::record() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return record_;
}

absl::Status IngestNumbers::Save(const v1::StoreRecord& record) {
  std::unique_ptr<Transaction> transaction = catalog_->Begin();
  transaction->Put(StoreRecordKey(), EncodeValue(record));
  absl::Status committed = transaction->Commit(Durability::kDurable);
  if (committed.ok()) record_ = record;
  return committed;
}

}  // namespace telltale::storage
