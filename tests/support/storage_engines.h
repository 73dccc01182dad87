// What every History and every Catalog is tested on: the model in memory and RocksDB.

#ifndef TELLTALE_TESTS_SUPPORT_STORAGE_ENGINES_H_
#define TELLTALE_TESTS_SUPPORT_STORAGE_ENGINES_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "storage/memory_catalog.h"
#include "storage/memory_history.h"
#include "storage/rocks_catalog.h"
#include "storage/rocks_database.h"
#include "storage/rocks_history.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {

struct StorageEngine {
  virtual ~StorageEngine() = default;
  virtual storage::History& history() = 0;
  virtual storage::Catalog& catalog() = 0;
};

struct MemoryEngine : StorageEngine {
  storage::History& history() override { return history_; }
  storage::Catalog& catalog() override { return catalog_; }
  storage::MemoryHistory history_;
  storage::MemoryCatalog catalog_;
};

struct RocksEngine : StorageEngine {
  explicit RocksEngine(rocksdb::Env* env = nullptr) : env_(env) {
    // Its entry is durable, as data_directory.h sees to it in a store.
    std::filesystem::create_directory(dir_.path() + "/rocks");
    Open();
  }
  storage::History& history() override { return *history_; }
  storage::Catalog& catalog() override { return *catalog_; }
  void Close() {
    catalog_.reset();
    history_.reset();
    database_.reset();
  }
  void Open() {
    database_ = *storage::RocksDatabase::Open({dir_.path() + "/rocks", env_, 64 << 20});
    history_.emplace(database_.get());
    catalog_.emplace(database_.get());
  }
  TempDir dir_;
  rocksdb::Env* const env_;
  std::unique_ptr<storage::RocksDatabase> database_;
  std::optional<storage::RocksHistory> history_;
  std::optional<storage::RocksCatalog> catalog_;
};

// "memory" or "rocks".
inline std::unique_ptr<StorageEngine> MakeEngine(std::string_view name) {
  if (name == "rocks") return std::make_unique<RocksEngine>();
  return std::make_unique<MemoryEngine>();
}

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_STORAGE_ENGINES_H_
