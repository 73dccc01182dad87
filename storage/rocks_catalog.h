// The catalog in the default column family of the data directory's RocksDB. Thread-safe.

#ifndef TELLTALE_STORAGE_ROCKS_CATALOG_H_
#define TELLTALE_STORAGE_ROCKS_CATALOG_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/catalog.h"
#include "storage/rocks_database.h"

namespace telltale::storage {

class RocksCatalog : public Catalog {
 public:
  explicit RocksCatalog(RocksDatabase* database) : database_(database) {}
  static constexpr size_t kMaxLosses = 64;  // lines kept; a table has one

  std::unique_ptr<Transaction> Begin() override;

  void CountUnreadable(uint64_t rows) override {
    unreadable_.fetch_add(rows, std::memory_order_relaxed);
  }
  uint64_t Unreadable() const override { return unreadable_.load(std::memory_order_relaxed); }
  void NoteLoss(std::string line) override;
  std::vector<std::string> Losses() const override;

  // The space of what was deleted in the range is free when this returns; else it is some time
  // later, as compaction comes by. For deletions of much at once.
  absl::Status GiveBack(std::string_view from, std::string_view to);

 private:
  friend class RocksTransaction;
  // What failed commits wrote to, with what stood there before (nothing: no such key). A failed
  // write may be in the log all the same and come back when the database is opened anew.
  using Doubts = std::map<std::string, std::optional<std::string>, std::less<>>;

  std::shared_ptr<const Doubts> doubts() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return doubts_;
  }

  RocksDatabase* const database_;  // outlives this
  std::atomic<uint64_t> unreadable_{0};
  mutable std::mutex mutex_;  // held through a commit that settles doubts
  std::shared_ptr<const Doubts> doubts_ = std::make_shared<Doubts>();  // guarded by mutex_

  mutable std::mutex losses_mutex_;
  std::vector<std::string> losses_;  // guarded by losses_mutex_
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROCKS_CATALOG_H_
