// The catalog on the local RocksDB: its default column family. Thread-safe.

#ifndef TELLTALE_STORAGE_ROCKS_CATALOG_H_
#define TELLTALE_STORAGE_ROCKS_CATALOG_H_

#include <memory>

#include "storage/catalog.h"
#include "storage/rocks_database.h"

namespace telltale::storage {

class RocksCatalog : public Catalog {
 public:
  explicit RocksCatalog(RocksDatabase* database) : database_(database) {}
  std::unique_ptr<Transaction> Begin() override;

 private:
  RocksDatabase* const database_;  // outlives this and its transactions
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROCKS_CATALOG_H_
