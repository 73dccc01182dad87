#include "storage/catalog_blobs.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "proto/text.h"
#include "storage/blob_rows.h"
#include "storage/keys.h"

namespace telltale::storage {
namespace {

constexpr char kCollector[] = "collector";

absl::Status CheckText(const char* name, std::string_view text) {
  if (!text.empty() && text.size() <= kMaxBlobText && proto::Printable(text)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " '", proto::SanitizeText(text, kMaxBlobText), "' of ", text.size(),
                   " bytes, want 1 to ", kMaxBlobText, " of printable UTF-8"));
}

bool MayOpen(BlobRole role, BlobRole least) {
  return role == BlobRole::kOperator || (role == BlobRole::kViewer && least == BlobRole::kViewer);
}

}  // namespace

CatalogBlobs::CatalogBlobs(CatalogBlobsOptions options)
    : options_(std::move(options)), audit_(options_.catalog) {}

BlobAudit CatalogBlobs::Entry(const BlobId& id, std::string_view who, const char* what) const {
  return {.time_ns = options_.now_ns(), .id = id, .who = std::string(who), .what = what};
}

// Refused it is either way; that it could not be written down is said with it.
absl::Status CatalogBlobs::Refuse(const BlobId& id, std::string_view who, absl::Status why) {
  const BlobAudit entry = Entry(id, who, "refused");
  const absl::Status audited =
      audit_.Commit({&entry, 1}, Durability::kBuffered, *options_.catalog->Begin());
  if (audited.ok()) return why;
  return absl::Status(why.code(), absl::StrCat(std::string(why.message()), "; not audited: ",
                                               std::string(audited.message())));
}

absl::Status CatalogBlobs::CheckRoom(const Transaction& transaction, const BlobInfo& more) const {
  if (options_.admit) {
    if (absl::Status space = options_.admit(); !space.ok()) return space;
  }
  uint64_t blobs = 0, bytes = 0;
  absl::Status read = ForEachBlob(transaction, [&](const absl::StatusOr<BlobRecord>& record) {
    if (record.ok() && record->info.id == more.id) return true;  // a remainder, replaced by this
    ++blobs;
    bytes += record.ok() ? record->info.bytes : options_.limits.blob_bytes;
    return true;
  });
  if (!read.ok()) return read;
  if (blobs >= options_.limits.blobs) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", blobs, ", want fewer than ",
                                                     options_.limits.blobs,
                                                     "; try again when some have ended"));
  }
  if (bytes + more.bytes > options_.limits.bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "of ", more.bytes, " bytes, with ", bytes, " kept already that is more than ",
        options_.limits.bytes, "; try again when some have ended, or make it smaller"));
  }
  return absl::OkStatus();
}

absl::Status CatalogBlobs::CheckGiven(const BlobInfo& info, std::string_view who) const {
  const std::pair<const char*, std::string_view> texts[] = {
      {"owner", info.owner}, {"kind", info.kind}, {"who", who}};
  for (const auto& [name, text] : texts) {
    if (absl::Status status = CheckText(name, text); !status.ok()) return status;
  }
  if (info.role != BlobRole::kOperator && info.role != BlobRole::kViewer) {
    return absl::InvalidArgumentError(absl::StrCat("role ", static_cast<int>(info.role),
                                                   ", want 1 (operator) or 2 (viewer)"));
  }
  const uint64_t most = std::min(options_.limits.blob_bytes, kMaxBlobBytes);
  if (info.bytes > most) {
    return absl::InvalidArgumentError(absl::StrCat(info.bytes, " bytes, want at most ", most,
                                                   "; shorten it or put it in several"));
  }
  if (info.expires_ns <= info.created_ns) {
    return absl::InvalidArgumentError(absl::StrCat("ends at ", info.expires_ns,
                                                   " ns since 1970, want an end after now, ",
                                                   info.created_ns));
  }
  return absl::OkStatus();
}

// The last piece comes with the finished record and the audit entry, in one commit.
absl::Status CatalogBlobs::Write(const BlobInfo& info, std::string_view content,
                                 std::string_view who, bool is_new,
                                 std::unique_ptr<Transaction> transaction) {
  const uint32_t pieces = BlobPieces(content.size());
  if (pieces > 1) {
    if (is_new) {
      transaction->Put(EncodeBlobKey(info.id), EncodeBlobRecord({info, /*unfinished=*/true}));
    }
    absl::Status written = transaction->Commit(Durability::kDurable);
    for (uint32_t i = 0; i + 1 < pieces && written.ok(); ++i) {
      transaction = options_.catalog->Begin();
      PutBlobPiece(info.id, i, content, *transaction);
      written = transaction->Commit(Durability::kDurable);
    }
    if (!written.ok()) return written;
    transaction = options_.catalog->Begin();
  }
  if (pieces > 0) PutBlobPiece(info.id, pieces - 1, content, *transaction);
  if (is_new) transaction->Put(EncodeBlobKey(info.id), EncodeBlobRecord({info}));
  const BlobAudit entry = Entry(info.id, who, "put");
  return audit_.Commit({&entry, 1}, Durability::kDurable, *transaction);
}

absl::Status CatalogBlobs::Put(const BlobInfo& given, std::string_view content,
                               std::string_view who) {
  const std::string step = absl::StrCat("put blob ", BlobName(given.id), ": ");
  const auto with_step = [&step](const absl::Status& status) {
    return absl::Status(status.code(), step + std::string(status.message()));
  };
  BlobInfo info = given;
  info.bytes = content.size();
  info.digest = XXH3_64bits(content.data(), content.size());
  info.created_ns = options_.now_ns();
  if (absl::Status fits = CheckGiven(info, who); !fits.ok()) return with_step(fits);

  const std::lock_guard<std::mutex> lock(write_mutex_);
  std::unique_ptr<Transaction> transaction = options_.catalog->Begin();
  const absl::StatusOr<BlobRecord> there = FindBlob(*transaction, info.id);
  if (!there.ok() && !absl::IsNotFound(there.status())) return with_step(there.status());
  if (!there.ok() || there->unfinished) {
    if (absl::Status room = CheckRoom(*transaction, info); !room.ok()) return with_step(room);
    if (there.ok()) DeleteBlobPieces(there->info, *transaction);
    return Write(info, content, who, /*is_new=*/true, std::move(transaction));
  }

  const absl::StatusOr<std::string> before = ReadBlobContent(*transaction, there->info);
  if (!before.ok() && !absl::IsDataLoss(before.status())) return with_step(before.status());
  const bool same = before.ok()
                        ? *before == content
                        : there->info.bytes == info.bytes && there->info.digest == info.digest;
  if (!same) {
    return Refuse(info.id, who,
                  absl::AlreadyExistsError(step +
                                           "there is one of other content; choose another id"));
  }
  // Who still has a content that was damaged here repairs it.
  if (!before.ok()) return Write(info, content, who, /*is_new=*/false, std::move(transaction));
  const BlobAudit entry = Entry(info.id, who, "put");
  return audit_.Commit({&entry, 1}, Durability::kDurable, *transaction);
}

absl::StatusOr<std::string> CatalogBlobs::Get(const BlobId& id, BlobRole role,
                                              std::string_view who) {
  const std::string step = absl::StrCat("read blob ", BlobName(id), ": ");
  if (absl::Status status = CheckText("who", who); !status.ok()) {
    return absl::Status(status.code(), step + std::string(status.message()));
  }
  const std::unique_ptr<Transaction> state = options_.catalog->Begin();
  const absl::StatusOr<BlobRecord> record = FindBlob(*state, id);
  if (!record.ok()) return record.status();
  if (record->unfinished) return absl::NotFoundError(step + "it is still being put");
  if (!MayOpen(role, record->info.role)) {
    return Refuse(id, who,
                  absl::PermissionDeniedError(step + "it is for operators; ask one of them"));
  }
  const BlobAudit entry = Entry(id, who, "get");
  absl::Status audited =
      audit_.Commit({&entry, 1}, Durability::kDurable, *options_.catalog->Begin());
  if (!audited.ok()) return audited;
  return ReadBlobContent(*state, record->info);
}

absl::StatusOr<std::vector<BlobInfo>> CatalogBlobs::List() const {
  std::vector<BlobInfo> blobs;
  absl::Status damaged;
  absl::Status read =
      ForEachBlob(*options_.catalog->Begin(), [&](const absl::StatusOr<BlobRecord>& record) {
        if (!record.ok()) damaged = record.status();
        if (record.ok() && !record->unfinished) blobs.push_back(record->info);
        return record.ok();
      });
  if (!read.ok()) return read;
  if (!damaged.ok()) return damaged;
  return blobs;
}

absl::StatusOr<uint64_t> CatalogBlobs::Expire(uint64_t now_ns) {
  // Nobody puts one meanwhile: what is not finished never will be.
  const std::lock_guard<std::mutex> lock(write_mutex_);
  const std::unique_ptr<Transaction> transaction = options_.catalog->Begin();
  std::vector<BlobInfo> going;
  std::vector<BlobAudit> ended;
  absl::Status damaged;
  absl::Status read = ForEachBlob(*transaction, [&](const absl::StatusOr<BlobRecord>& record) {
    if (!record.ok()) {
      damaged = record.status();
    } else if (record->unfinished) {
      going.push_back(record->info);
    } else if (record->info.expires_ns < now_ns) {
      going.push_back(record->info);
      ended.push_back(Entry(record->info.id, kCollector, "expire"));
    }
    return true;
  });
  if (!read.ok()) return read;
  for (const BlobInfo& info : going) {
    transaction->Delete(EncodeBlobKey(info.id));
    DeleteBlobPieces(info, *transaction);
  }
  if (!going.empty()) {
    absl::Status committed = audit_.Commit(ended, Durability::kDurable, *transaction);
    if (!committed.ok()) return committed;
  }
  if (!damaged.ok()) return damaged;
  return ended.size();
}

absl::StatusOr<std::vector<BlobAudit>> CatalogBlobs::Audit(size_t limit) const {
  return audit_.Newest(limit);
}

}  // namespace telltale::storage
