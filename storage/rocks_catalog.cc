#include "storage/rocks_catalog.h"

#include <span>
#include <string>
#include <utility>

#include "rocksdb/write_batch.h"
#include "storage/rocks_history.h"
#include "storage/scan_over.h"
#include "storage/staged_writes.h"

namespace telltale::storage {

class RocksTransaction : public Transaction {
 public:
  RocksTransaction(RocksCatalog* catalog, RocksDatabase* database)
      : catalog_(catalog),
        database_(database),
        instance_(database->Use()),
        doubts_(catalog->doubts()) {
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
    return Before(key);
  }

  absl::Status Scan(std::string_view from, std::string_view to,
                    const CatalogVisitor& visit) const override {
    if (!instance_.ok()) return instance_.status();
    rocksdb::ReadOptions options = read_;
    const rocksdb::Slice upper = ToSlice(to);
    if (!to.empty()) options.iterate_upper_bound = &upper;
    std::unique_ptr<rocksdb::Iterator> it(
        (*instance_)->db().NewIterator(options, (*instance_)->catalog()));
    const StagedWrites over = Over();
    StagedWrites::Merge merge(over, from, to, visit);
    for (it->Seek(ToSlice(from)); it->Valid(); it->Next()) {
      if (!merge.Below(ToView(it->key()), ToView(it->value()))) return absl::OkStatus();
    }
    if (!it->status().ok()) return Told(FromRocks(it->status(), "scan", "catalog"));
    merge.Finish();
    return absl::OkStatus();
  }

  absl::Status ScanOver(std::string_view from, std::string_view to, const CatalogVisitor& visit,
                        const DamageVisitor& damaged) const override {
    if (!instance_.ok()) return instance_.status();
    const StagedWrites over = Over();
    StagedWrites::Merge merge(over, from, to, visit);
    bool ended = false;
    const absl::Status scanned =
        storage::ScanOver((*instance_)->db(), (*instance_)->catalog(), from, to,
                          [&](std::string_view key, std::string_view value) {
                            ended = !merge.Below(key, value);
                            return !ended;
                          },
                          [&](const DamagedRange& range) {
                            catalog_->CountUnreadable(range.rows);
                            damaged(range);
                          },
                          snapshot_);
    if (scanned.ok() && !ended) merge.Finish();
    return scanned;
  }

  void Put(std::string_view key, std::string_view value) override { staged_.Put(key, value); }
  void Delete(std::string_view key) override { staged_.Delete(key); }

  // One record of the log, synced once, has both: no part of it can be there without the other.
  bool AppendWith(const History& history, std::span<const Row> rows) override {
    const auto* own = dynamic_cast<const RocksHistory*>(&history);
    if (own == nullptr || own->database() != database_) return false;
    rows_ = rows;
    return true;
  }

  absl::Status Commit(Durability durability) override {
    if (!instance_.ok()) return instance_.status();
    if (staged_.writes().empty() && rows_.empty() && durability == Durability::kBuffered) {
      return absl::OkStatus();
    }
    std::unique_lock<std::mutex> lock(catalog_->mutex_);
    const std::shared_ptr<const RocksCatalog::Doubts> doubts = catalog_->doubts_;
    // Without doubts commits of different threads need not wait for each other.
    if (doubts->empty()) lock.unlock();
    StagedWrites all;
    for (const auto& [key, value] : *doubts) Stage(key, value, all);
    for (const auto& [key, value] : staged_.writes()) Stage(key, value, all);
    rocksdb::WriteBatch batch;
    for (const Row& row : rows_) {
      const rocksdb::Status status =
          batch.Put((*instance_)->family(row.family), ToSlice(row.key), ToSlice(row.value));
      if (!status.ok()) return FromRocks(status, "append to", FamilyName(row.family));
    }
    for (const auto& [key, value] : all.writes()) {
      const rocksdb::Status status = value.has_value()
                                         ? batch.Put((*instance_)->catalog(), key, *value)
                                         : batch.Delete((*instance_)->catalog(), key);
      if (!status.ok()) return FromRocks(status, "commit to", "catalog");
    }
    const absl::Status written = database_->Write(
        **instance_, &batch, durability == Durability::kDurable, "commit to catalog of");
    if (written.ok()) {
      if (lock.owns_lock()) catalog_->doubts_ = std::make_shared<RocksCatalog::Doubts>();
      return written;
    }
    if (!lock.owns_lock()) lock.lock();
    auto more = std::make_shared<RocksCatalog::Doubts>(*catalog_->doubts_);
    for (const auto& [key, value] : staged_.writes()) {
      const absl::StatusOr<std::string> before = Before(key);
      if (before.ok()) {
        more->emplace(key, *before);
      } else if (absl::IsNotFound(before.status())) {
        more->emplace(key, std::nullopt);
      }
    }
    catalog_->doubts_ = std::move(more);
    return written;
  }

 private:
  static void Stage(std::string_view key, const std::optional<std::string>& value,
                    StagedWrites& writes) {
    if (value.has_value()) {
      writes.Put(key, *value);
    } else {
      writes.Delete(key);
    }
  }
  // Own writes lie over what is in doubt, that over what is stored.
  StagedWrites Over() const {
    StagedWrites over;
    for (const auto& [key, value] : *doubts_) Stage(key, value, over);
    for (const auto& [key, value] : staged_.writes()) Stage(key, value, over);
    return over;
  }
  absl::Status Told(absl::Status status) const {
    if (absl::IsDataLoss(status)) catalog_->CountUnreadable(1);
    return status;
  }
  // As this transaction began.
  absl::StatusOr<std::string> Before(std::string_view key) const {
    if (const auto doubt = doubts_->find(key); doubt != doubts_->end()) {
      if (doubt->second.has_value()) return *doubt->second;
      return absl::NotFoundError("read catalog: no such key");
    }
    if (!instance_.ok()) return instance_.status();
    std::string value;
    const rocksdb::Status status =
        (*instance_)->db().Get(read_, (*instance_)->catalog(), ToSlice(key), &value);
    if (!status.ok()) return Told(FromRocks(status, "read", "catalog"));
    return value;
  }

  RocksCatalog* const catalog_;
  RocksDatabase* const database_;
  // Of the beginning; every call of a transaction that could not begin says why.
  const absl::StatusOr<std::shared_ptr<RocksInstance>> instance_;
  const std::shared_ptr<const RocksCatalog::Doubts> doubts_;
  const rocksdb::Snapshot* snapshot_ = nullptr;
  rocksdb::ReadOptions read_;
  StagedWrites staged_;
  std::span<const Row> rows_;  // committed with it; the caller's
};

std::unique_ptr<Transaction> RocksCatalog::Begin() {
  return std::make_unique<RocksTransaction>(this, database_);
}

void RocksCatalog::NoteLoss(std::string line) {
  std::lock_guard<std::mutex> lock(losses_mutex_);
  if (losses_.size() < kMaxLosses) losses_.push_back(std::move(line));
}

std::vector<std::string> RocksCatalog::Losses() const {
  std::lock_guard<std::mutex> lock(losses_mutex_);
  return losses_;
}

absl::Status RocksCatalog::GiveBack(std::string_view from, std::string_view to) {
  const auto instance = database_->Use();
  if (!instance.ok()) return instance.status();
  const rocksdb::Slice begin = ToSlice(from), end = ToSlice(to);
  return FromRocks((*instance)->db().CompactRange({}, (*instance)->catalog(), &begin, &end),
                   "compact", "catalog");
}

}  // namespace telltale::storage
