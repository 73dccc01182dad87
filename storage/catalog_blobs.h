// Blobs in the catalog: the record of each, its content as pieces in a table of their own, and the
// audit. On RocksDB pieces lie in blob files, which compaction passes by. What a process that died
// left of a blob is none, and the next Expire takes it away (FORMAT.md). Thread-safe.

#ifndef TELLTALE_STORAGE_CATALOG_BLOBS_H_
#define TELLTALE_STORAGE_CATALOG_BLOBS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/blob.h"
#include "storage/blob_audit.h"
#include "storage/catalog.h"

namespace telltale::storage {

struct BlobLimits {
  uint64_t blob_bytes = 64 << 20;  // of one: in memory as a whole when put and when read; <= 1 GiB
  uint64_t blobs = 10'000;
  uint64_t bytes = uint64_t{4} << 30;  // of all contents
};

struct CatalogBlobsOptions {
  Catalog* catalog = nullptr;           // outlives the blobs
  std::function<uint64_t()> now_ns;     // wall clock
  std::function<absl::Status()> admit;  // whether there is space for more; empty: always
  BlobLimits limits;
};

class CatalogBlobs : public BlobStore {
 public:
  explicit CatalogBlobs(CatalogBlobsOptions options);

  absl::Status Put(const BlobInfo& info, std::string_view content, std::string_view who) override;
  absl::StatusOr<std::string> Get(const BlobId& id, BlobRole role, std::string_view who) override;
  absl::StatusOr<std::vector<BlobInfo>> List() const override;
  // Audited as the collector's. A record that cannot be read stays; DataLoss says so once the
  // others are gone.
  absl::StatusOr<uint64_t> Expire(uint64_t now_ns) override;
  absl::StatusOr<std::vector<BlobAudit>> Audit(size_t limit) const override;

 private:
  absl::Status CheckGiven(const BlobInfo& info, std::string_view who) const;
  absl::Status CheckRoom(const Transaction& transaction, const BlobInfo& more) const;
  // `transaction` has what else goes with it.
  absl::Status Write(const BlobInfo& info, std::string_view content, std::string_view who,
                     bool is_new, std::unique_ptr<Transaction> transaction);
  absl::Status Refuse(const BlobId& id, std::string_view who, absl::Status why);
  BlobAudit Entry(const BlobId& id, std::string_view who, const char* what) const;

  const CatalogBlobsOptions options_;
  std::mutex write_mutex_;  // one Put or Expire at a time; taken before the audit's
  BlobAuditLog audit_;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_CATALOG_BLOBS_H_
