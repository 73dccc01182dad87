// The catalog as a sorted map in memory: model of the conformance suite, and for tests that need no
// disk. Thread-safe.

#ifndef TELLTALE_STORAGE_MEMORY_CATALOG_H_
#define TELLTALE_STORAGE_MEMORY_CATALOG_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "storage/catalog.h"

namespace telltale::storage {

class MemoryCatalog : public Catalog {
 public:
  std::unique_ptr<Transaction> Begin() override;

  using State = std::map<std::string, std::string, std::less<>>;
  // What is committed now; whoever has it gives it back with Release.
  std::shared_ptr<const State> Snapshot() const;
  void Release(std::shared_ptr<const State> snapshot);
  void Apply(const std::map<std::string, std::optional<std::string>, std::less<>>& writes);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<State> state_ = std::make_shared<State>();  // guarded by mutex_
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_MEMORY_CATALOG_H_
