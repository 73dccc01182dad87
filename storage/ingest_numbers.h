// Ascending numbers over the life of a data directory, one per commit of the summary store. A block
// of them is reserved durably ahead of use, so that no number is ever given twice. Thread-safe.

#ifndef TELLTALE_STORAGE_INGEST_NUMBERS_H_
#define TELLTALE_STORAGE_INGEST_NUMBERS_H_

#include <cstdint>
#include <functional>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "telltale/v1/store.pb.h"

namespace telltale::storage {

class IngestNumbers {
 public:
  static constexpr uint64_t kBlock = 1 << 20;

  absl::Status Load(Catalog* catalog);
  absl::StatusOr<uint64_t> Next();
  uint64_t last() const;

  // Changes the store record; it has no other writer than this class.
  absl::Status UpdateRecord(const std::function<void(v1::StoreRecord&)>& change);
  v1::StoreRecord record() const;

 private:
  absl::Status Save(const v1::StoreRecord& record);

  Catalog* catalog_ = nullptr;
  mutable std::mutex mutex_;
  v1::StoreRecord record_;  // guarded by mutex_
  uint64_t last_ = 0;       // guarded by mutex_
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_INGEST_NUMBERS_H_
