// Who did what with which blob: the audit table of the catalog (FORMAT.md, 0c). Belongs to one blob
// store. Thread-safe.

#ifndef TELLTALE_STORAGE_BLOB_AUDIT_H_
#define TELLTALE_STORAGE_BLOB_AUDIT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/blob.h"
#include "storage/catalog.h"

namespace telltale::storage {

class BlobAuditLog {
 public:
  explicit BlobAuditLog(Catalog* catalog) : catalog_(catalog) {}  // outlives this

  // Commits the transaction with these entries in it: all of it is there, or nothing. The oldest
  // entries beyond those kept go with the same commit. Errors as of the catalog.
  absl::Status Commit(std::span<const BlobAudit> entries, Durability durability,
                      Transaction& transaction);
  // Newest first. DataLoss: one of them cannot be read.
  absl::StatusOr<std::vector<BlobAudit>> Newest(size_t limit) const;

 private:
  absl::Status Load();

  Catalog* const catalog_;
  std::mutex mutex_;  // held through a commit: an entry and the one it pushes out are one step
  bool loaded_ = false;
  uint32_t next_number_ = 0;
  std::deque<std::string> done_, refused_;  // keys, oldest first
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_BLOB_AUDIT_H_
