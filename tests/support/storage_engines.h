// What every History and every Catalog is tested on: the model in memory and RocksDB.

#ifndef TELLTALE_TESTS_SUPPORT_STORAGE_ENGINES_H_
#define TELLTALE_TESTS_SUPPORT_STORAGE_ENGINES_H_

#include <memory>
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
  RocksEngine()
      : database_(*storage::RocksDatabase::Open({dir_.path() + "/rocks", nullptr, 64 << 20})) {}
  storage::History& history() override { return history_; }
  storage::Catalog& catalog() override { return catalog_; }
  TempDir dir_;
  std::unique_ptr<storage::RocksDatabase> database_;
  storage::RocksHistory history_{database_.get()};
  storage::RocksCatalog catalog_{database_.get()};
};

// "memory" or "rocks".
inline std::unique_ptr<StorageEngine> MakeEngine(std::string_view name) {
  if (name == "rocks") return std::make_unique<RocksEngine>();
  return std::make_unique<MemoryEngine>();
}

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_STORAGE_ENGINES_H_
