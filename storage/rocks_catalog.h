// The catalog in the default column family of the data directory's RocksDB. Thread-safe.

#ifndef TELLTALE_STORAGE_ROCKS_CATALOG_H_
#define TELLTALE_STORAGE_ROCKS_CATALOG_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "storage/catalog.h"
#include "storage/rocks_database.h"

namespace telltale::storage {

class RocksCatalog : public Catalog {
 public:
  explicit RocksCatalog(RocksDatabase* database) : database_(database) {}
  std::unique_ptr<Transaction> Begin() override;

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
  mutable std::mutex mutex_;       // held through a commit that settles doubts
  std::shared_ptr<const Doubts> doubts_ = std::make_shared<Doubts>();  // guarded by mutex_
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROCKS_CATALOG_H_
