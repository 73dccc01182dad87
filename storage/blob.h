// Blobs: large things that are looked at as a whole (recordings, exact windows, debug files), each
// with an owner, a kind, a digest computed here, a role who may open it and a time it ends. Every
// access is audited.
//
// Implementations are thread-safe.

#ifndef TELLTALE_STORAGE_BLOB_H_
#define TELLTALE_STORAGE_BLOB_H_

#include <array>
#include <cstddef>
#include <cstdint>
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
  std::string owner;  // "node/web-1", "operator/ann"; 1 to kMaxBlobText bytes, printable
  std::string kind;   // "recording", "debug-file" ...; the same
  BlobRole role = BlobRole::kOperator;
  uint64_t expires_ns = 0;
  // Said by the store; what Put is given here counts for nothing.
  uint64_t bytes = 0;
  uint64_t digest = 0;      // xxh3-64 of the content
  uint64_t created_ns = 0;  // collector's clock
};

inline constexpr size_t kMaxBlobText = 256;  // of owner, kind and who

// Of what was done the last 10,000 entries are kept, and beside them the last 2,000 refusals, so
// that these cannot push out the rest.
inline constexpr size_t kKeptBlobAccesses = 10'000;
inline constexpr size_t kKeptBlobRefusals = 2'000;

struct BlobAudit {
  uint64_t time_ns = 0;  // collector's clock
  BlobId id = {};
  std::string who;  // 1 to kMaxBlobText bytes, printable
  std::string what;  // "put", "get", "expire", "refused"
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;
  // Durable on return, with its audit entry. AlreadyExists: the id has other content (audited as
  // refused); the same content again is fine and leaves owner, role and end as they were.
  // InvalidArgument: a text, the role, the end or the length is not what it may be;
  // ResourceExhausted: as many blobs or bytes are kept as may be, or the disk is full.
  virtual absl::Status Put(const BlobInfo& info, std::string_view content,
                           std::string_view who) = 0;
  // PermissionDenied when `role` may not (audited as refused); DataLoss when the content no longer
  // has its digest. What is handed out was audited durably before.
  virtual absl::StatusOr<std::string> Get(const BlobId& id, BlobRole role,
                                          std::string_view who) = 0;
  virtual absl::StatusOr<std::vector<BlobInfo>> List() const = 0;  // by id
  // Removes what ended before `now_ns`, with its content; returns how many. Until then it can be
  // read.
  virtual absl::StatusOr<uint64_t> Expire(uint64_t now_ns) = 0;
  // The newest `limit` entries, newest first.
  virtual absl::StatusOr<std::vector<BlobAudit>> Audit(size_t limit) const = 0;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_BLOB_H_
