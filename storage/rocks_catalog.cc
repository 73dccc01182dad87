#include "storage/rocks_catalog.h"

#include <optional>
#include <string>

#include "rocksdb/write_batch.h"
#include "storage/staged_writes.h"

namespace telltale::storage {
namespace {

class RocksTransaction : public Transaction {
 public:
  explicit RocksTransaction(RocksDatabase* database)
      : database_(database), instance_(database->Use()) {
    if (!instance_.ok()) return;
    snapshot_ = (*instance_)->db().GetSnapshot();
    read_.snapshot = snapshot_;
  }
  ~RocksTransaction() override {
    if (snapshot_ != nullptr) (*instance_)->db().ReleaseSnapshot(snapshot_);
  }

  absl::StatusOr<std::string> Get(std::string_view key) const override {
    if (const std::optional<std::string>* own = staged_.Find(key)) {
      if (own->has_value()) return **own;
      return absl::NotFoundError("read catalog: deleted in this transaction");
    }
    if (!instance_.ok()) return instance_.status();
    std::string value;
    const rocksdb::Status status =
        (*instance_)->db().Get(read_, (*instance_)->catalog(), ToSlice(key), &value);
    if (!status.ok()) return FromRocks(status, "read", "catalog");
    return value;
  }

  absl::Status Scan(std::string_view from, std::string_view to,
                    const CatalogVisitor& visit) const override {
    if (!instance_.ok()) return instance_.status();
    rocksdb::ReadOptions options = read_;
    const rocksdb::Slice upper = ToSlice(to);
    if (!to.empty()) options.iterate_upper_bound = &upper;
    std::unique_ptr<rocksdb::Iterator> it(
        (*instance_)->db().NewIterator(options, (*instance_)->catalog()));
    StagedWrites::Merge merge(staged_, from, to, visit);
    for (it->Seek(ToSlice(from)); it->Valid(); it->Next()) {
      if (!merge.Below(ToView(it->key()), ToView(it->value()))) return absl::OkStatus();
    }
    if (!it->status().ok()) return FromRocks(it->status(), "scan", "catalog");
    merge.Finish();
    return absl::OkStatus();
  }

  void Put(std::string_view key, std::string_view value) override { staged_.Put(key, value); }
  void Delete(std::string_view key) override { staged_.Delete(key); }

  absl::Status Commit(Durability durability) override {
    if (!instance_.ok()) return instance_.status();
    rocksdb::WriteBatch batch;
    for (const auto& [key, value] : staged_.writes()) {
      const rocksdb::Status status = value.has_value()
                                         ? batch.Put((*instance_)->catalog(), key, *value)
                                         : batch.Delete((*instance_)->catalog(), key);
      if (!status.ok()) return FromRocks(status, "commit to", "catalog");
    }
    if (batch.Count() == 0 && durability == Durability::kBuffered) return absl::OkStatus();
    return database_->Write(**instance_, &batch, durability == Durability::kDurable,
                            "commit to catalog of");
  }

 private:
  RocksDatabase* const database_;
  // Of the beginning; every call of a transaction that could not begin says why.
  const absl::StatusOr<std::shared_ptr<RocksInstance>> instance_;
  const rocksdb::Snapshot* snapshot_ = nullptr;
  rocksdb::ReadOptions read_;
  StagedWrites staged_;
};

}  // namespace

std::unique_ptr<Transaction> RocksCatalog::Begin() {
  return std::make_unique<RocksTransaction>(database_);
}

}  // namespace telltale::storage
