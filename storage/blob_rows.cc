#include "storage/blob_rows.h"

#include <xxhash.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/keys.h"
#include "storage/stored_value.h"
#include "telltale/v1/store.pb.h"

namespace telltale::storage {
namespace {

std::string_view IdBytes(const BlobId& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

}  // namespace

std::string BlobName(const BlobId& id) { return absl::BytesToHexString(std::string(IdBytes(id))); }

std::string EncodeBlobRecord(const BlobRecord& record) {
  const BlobInfo& info = record.info;
  v1::StoredBlob stored;
  stored.set_id(info.id.data(), info.id.size());
  stored.set_owner(info.owner);
  stored.set_kind(info.kind);
  stored.set_role(static_cast<uint32_t>(info.role));
  stored.set_bytes(info.bytes);
  stored.set_digest(info.digest);
  stored.set_created_ns(info.created_ns);
  stored.set_expires_ns(info.expires_ns);
  stored.set_unfinished(record.unfinished);
  return EncodeValue(stored);
}

absl::StatusOr<BlobRecord> DecodeBlobRecord(std::string_view key, std::string_view value) {
  const absl::StatusOr<BlobId> id = DecodeBlobKey(key);
  if (!id.ok()) return id.status();
  const auto stored = DecodeValue<v1::StoredBlob>(value, "blob");
  if (!stored.ok()) return stored.status();
  if (stored->id() != IdBytes(*id) || stored->bytes() > kMaxBlobBytes ||
      (stored->role() != static_cast<uint32_t>(BlobRole::kOperator) &&
       stored->role() != static_cast<uint32_t>(BlobRole::kViewer))) {
    return absl::DataLossError(absl::StrCat(
        "read blob ", BlobName(*id), ": its record is of id ", absl::BytesToHexString(stored->id()),
        ", role ", stored->role(), " and ", stored->bytes(),
        " bytes, want this id, role 1 or 2 and at most ", kMaxBlobBytes, " bytes"));
  }
  BlobRecord record;
  record.info = {.id = *id,
                 .owner = stored->owner(),
                 .kind = stored->kind(),
                 .role = static_cast<BlobRole>(stored->role()),
                 .expires_ns = stored->expires_ns(),
                 .bytes = stored->bytes(),
                 .digest = stored->digest(),
                 .created_ns = stored->created_ns()};
  record.unfinished = stored->unfinished();
  return record;
}

absl::StatusOr<BlobRecord> FindBlob(const Transaction& transaction, const BlobId& id) {
  const std::string key = EncodeBlobKey(id);
  const absl::StatusOr<std::string> value = transaction.Get(key);
  if (absl::IsNotFound(value.status())) {
    return absl::NotFoundError(absl::StrCat("read blob ", BlobName(id), ": there is none"));
  }
  if (!value.ok()) return value.status();
  return DecodeBlobRecord(key, *value);
}

absl::Status ForEachBlob(const Transaction& transaction, const BlobVisitor& visit) {
  const std::string prefix = TablePrefix(CatalogTable::kBlobs);
  bool goes_on = true;
  absl::Status damaged;
  const absl::Status scanned = transaction.ScanOver(
      prefix, PrefixEnd(prefix),
      [&](std::string_view key, std::string_view value) {
        return goes_on = visit(DecodeBlobRecord(key, value));
      },
      [&damaged](const DamagedRange& range) {
        damaged = absl::DataLossError(
            absl::StrCat("read blobs: about ", range.rows, " records: ", range.why));
      });
  if (!scanned.ok()) return scanned;
  // Behind those that can be read: all that the visitor can do about it is to say so.
  if (!damaged.ok() && goes_on) visit(damaged);
  return absl::OkStatus();
}

uint32_t BlobPieces(uint64_t bytes) {
  return static_cast<uint32_t>((bytes + kBlobPieceBytes - 1) / kBlobPieceBytes);
}

void PutBlobPiece(const BlobId& id, uint32_t number, std::string_view content,
                  Transaction& transaction) {
  transaction.Put(EncodeBlobPieceKey(id, number),
                  VersionedValue(content.substr(number * kBlobPieceBytes, kBlobPieceBytes)));
}

void DeleteBlobPieces(const BlobInfo& info, Transaction& transaction) {
  const uint32_t pieces = BlobPieces(info.bytes);
  for (uint32_t i = 0; i < pieces; ++i) transaction.Delete(EncodeBlobPieceKey(info.id, i));
}

absl::StatusOr<std::string> ReadBlobContent(const Transaction& transaction, const BlobInfo& info) {
  const auto damaged = [&info](const std::string& how) {
    return absl::DataLossError(absl::StrCat("read content of blob ", BlobName(info.id), ": ", how));
  };
  std::string content;  // grows by what is there, not by what the record says
  const uint32_t pieces = BlobPieces(info.bytes);
  for (uint32_t i = 0; i < pieces; ++i) {
    const absl::StatusOr<std::string> value = transaction.Get(EncodeBlobPieceKey(info.id, i));
    if (absl::IsNotFound(value.status())) {
      return damaged(absl::StrCat("piece ", i, " of ", pieces, " is gone"));
    }
    if (!value.ok() && !absl::IsDataLoss(value.status())) return value.status();
    const auto piece = value.ok() ? ValueContent(*value, "piece") : value.status();
    if (!piece.ok()) {
      return damaged(
          absl::StrCat("piece ", i, " of ", pieces, ": ", std::string(piece.status().message())));
    }
    content.append(*piece);
  }
  if (content.size() != info.bytes || XXH3_64bits(content.data(), content.size()) != info.digest) {
    return damaged(
        absl::StrCat("it does not have the digest and the ", info.bytes, " bytes it was put with"));
  }
  return content;
}

}  // namespace telltale::storage
