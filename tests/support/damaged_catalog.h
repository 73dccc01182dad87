// A catalog on RocksDB whose rows a bad disk can damage. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_DAMAGED_CATALOG_H_
#define TELLTALE_TESTS_SUPPORT_DAMAGED_CATALOG_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>

#include "storage/rocks_catalog.h"
#include "storage/rocks_database.h"
#include "storage/rocks_history.h"
#include "tests/support/damage.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {

class DamagedCatalog {
 public:
  DamagedCatalog() { Open(); }

  storage::Catalog& catalog() { return *catalog_; }
  storage::History& history() { return *history_; }

  void Put(const std::map<std::string, std::string>& rows) {
    const auto transaction = catalog_->Begin();
    for (const auto& [key, value] : rows) transaction->Put(key, value);
    ASSERT_TRUE(transaction->Commit(storage::Durability::kDurable).ok());
  }
  // The rows in these shares of all that was put, in the order of their keys, are damaged. Who has
  // the catalog or the history open closes it before.
  void Damage(double from, double to) {
    Close();
    ASSERT_NE(DamageRows(rocks(), "default", from, to), "");
    Open();
  }
  void Reopen() {
    Close();
    Open();
  }
  // That does not compress.
  std::string Noise(size_t bytes) {
    std::string noise(bytes, '\0');
    for (char& byte : noise) byte = static_cast<char>('a' + random_() % 26);
    return noise;
  }

 private:
  std::string rocks() const { return dir_.path() + "/rocks"; }
  void Open() {
    auto opened = storage::RocksDatabase::Open({.path = rocks(), .memory_bytes = 16 << 20});
    ASSERT_TRUE(opened.ok()) << opened.status();
    database_ = *std::move(opened);
    catalog_ = std::make_unique<storage::RocksCatalog>(database_.get());
    history_ = std::make_unique<storage::RocksHistory>(database_.get());
  }
  void Close() {
    history_.reset();
    catalog_.reset();
    database_.reset();
  }

  TempDir dir_;
  std::mt19937 random_{7};
  std::unique_ptr<storage::RocksDatabase> database_;
  std::unique_ptr<storage::RocksCatalog> catalog_;
  std::unique_ptr<storage::RocksHistory> history_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_DAMAGED_CATALOG_H_
