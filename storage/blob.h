// Blobs: large things that are looked at as a whole (recordings, exact windows, debug files), each
// with an owner, a kind, a digest computed here, a role who may open it and a time it ends. Every
// access is audited.
//
// Implementations are thread-safe.

#ifndef TELLTALE_STORAGE_BLOB_H_
#define TELLTALE_STORAGE_BLOB_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::storage {

using BlobId = std::array<uint8_t, 16>;

enum class BlobRole : uint8_t { kOperator = 1, kViewer = 2 };  // the least role that may open it

struct BlobInfo {
  BlobId id = {};
  std::string owner;  // "node/web-1", "operator/ann"
  std::string kind;   // "recording", "debug-file" ...
  BlobRole role = BlobRole::kOperator;
  uint64_t bytes = 0;
  uint64_t digest = 0;      // xxh3 of the content, computed by the store
  uint64_t created_ns = 0;  // collector's clock
  uint64_t expires_ns = 0;
};

struct BlobAudit {
  uint64_t time_ns = 0;
  BlobId id = {};
  std::string who;
  std::string what;  // "put", "get", "expire", "refused"
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;
  // Durable on return. AlreadyExists: the id has other content; the same content again is fine.
  virtual absl::Status Put(const BlobInfo& info, std::string_view content,
                           std::string_view who) = 0;
  // PermissionDenied when `role` may not; DataLoss when the content no longer has its digest.
  virtual absl::StatusOr<std::string> Get(const BlobId& id, BlobRole role,
                                          std::string_view who) = 0;
  virtual absl::StatusOr<std::vector<BlobInfo>> List() const = 0;
  // Removes what ended before `now_ns`; returns how many.
  virtual absl::StatusOr<uint64_t> Expire(uint64_t now_ns) = 0;
  // The newest `limit` entries, newest first.
  virtual absl::StatusOr<std::vector<BlobAudit>> Audit(size_t limit) const = 0;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_BLOB_H_
