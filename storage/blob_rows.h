// Rows of a blob in the catalog (FORMAT.md, 0b and 10): its record, and its content in pieces, so
// that no commit is so large that those of summaries wait long for it. Free functions; any thread.

#ifndef TELLTALE_STORAGE_BLOB_ROWS_H_
#define TELLTALE_STORAGE_BLOB_ROWS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/blob.h"
#include "storage/catalog.h"

namespace telltale::storage {

inline constexpr uint64_t kBlobPieceBytes = 1 << 20;  // the last piece is what is left
inline constexpr uint64_t kMaxBlobBytes = 1 << 30;    // a record that says more is damaged

struct BlobRecord {
  BlobInfo info;
  // Its pieces are being written, or were by a process that died: there is no such blob yet.
  bool unfinished = false;
};

// "0123..." in hexadecimal, as messages name a blob.
std::string BlobName(const BlobId& id);

std::string EncodeBlobRecord(const BlobRecord& record);
// DataLoss: it is none.
absl::StatusOr<BlobRecord> DecodeBlobRecord(std::string_view key, std::string_view value);

// NotFound: there is none; DataLoss: it cannot be read.
absl::StatusOr<BlobRecord> FindBlob(const Transaction& transaction, const BlobId& id);
// By id, each as far as it can be read; false ends it.
using BlobVisitor = std::function<bool(const absl::StatusOr<BlobRecord>& record)>;
absl::Status ForEachBlob(const Transaction& transaction, const BlobVisitor& visit);

uint32_t BlobPieces(uint64_t bytes);
// One of the pieces of a content as its row.
void PutBlobPiece(const BlobId& id, uint32_t number, std::string_view content,
                  Transaction& transaction);
void DeleteBlobPieces(const BlobInfo& info, Transaction& transaction);
// DataLoss: it is not there, cannot be read or does not have the digest the record says.
absl::StatusOr<std::string> ReadBlobContent(const Transaction& transaction, const BlobInfo& info);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_BLOB_ROWS_H_
