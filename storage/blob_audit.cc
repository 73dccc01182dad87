#include "storage/blob_audit.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "storage/keys.h"
#include "storage/stored_value.h"
#include "telltale/v1/store.pb.h"

namespace telltale::storage {
namespace {

constexpr std::string_view kRefused = "refused";

std::string Encode(const BlobAudit& entry) {
  v1::StoredBlobAudit stored;
  stored.set_time_ns(entry.time_ns);
  stored.set_id(entry.id.data(), entry.id.size());
  stored.set_who(entry.who);
  stored.set_what(entry.what);
  return EncodeValue(stored);
}

absl::StatusOr<BlobAudit> Decode(std::string_view value) {
  auto stored = DecodeValue<v1::StoredBlobAudit>(value, "blob audit");
  if (!stored.ok()) return stored.status();
  BlobAudit entry;
  if (stored->id().size() != entry.id.size()) {
    return absl::DataLossError(absl::StrCat("read blob audit: id of ", stored->id().size(),
                                            " bytes, want ", entry.id.size()));
  }
  std::copy(stored->id().begin(), stored->id().end(), entry.id.begin());
  entry.time_ns = stored->time_ns();
  entry.who = stored->who();
  entry.what = stored->what();
  return entry;
}

// Adds a key to those of its kind; the one that is too many by that is deleted.
void Push(std::string key, size_t kept, std::deque<std::string>& keys, Transaction& transaction) {
  keys.push_back(std::move(key));
  for (; keys.size() > kept; keys.pop_front()) transaction.Delete(keys.front());
}

}  // namespace

absl::Status BlobAuditLog::Load() {
  if (loaded_) return absl::OkStatus();
  done_.clear();
  refused_.clear();
  const std::string prefix = TablePrefix(CatalogTable::kBlobAudit);
  // Keys are of a moment and a number: after a loss a number may come again, but at another moment.
  absl::Status scanned = catalog_->Begin()->ScanOver(
      prefix, PrefixEnd(prefix),
      [this](std::string_view key, std::string_view value) {
        const auto decoded = DecodeBlobAuditKey(key);
        if (decoded.ok()) next_number_ = std::max(next_number_, decoded->number + 1);
        const auto entry = Decode(value);
        (entry.ok() && entry->what == kRefused ? refused_ : done_).emplace_back(key);
        return true;
      },
      [](const DamagedRange&) {});
  loaded_ = scanned.ok();
  return scanned;
}

absl::Status BlobAuditLog::Commit(std::span<const BlobAudit> entries, Durability durability,
                                  Transaction& transaction) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (absl::Status status = Load(); !status.ok()) return status;
  for (const BlobAudit& entry : entries) {
    std::string key = EncodeBlobAuditKey({entry.time_ns, next_number_++});
    transaction.Put(key, Encode(entry));
    if (entry.what == kRefused) {
      Push(std::move(key), kKeptBlobRefusals, refused_, transaction);
    } else {
      Push(std::move(key), kKeptBlobAccesses, done_, transaction);
    }
  }
  absl::Status committed = transaction.Commit(durability);
  if (!committed.ok()) loaded_ = false;  // which keys there are is read again
  return committed;
}

absl::StatusOr<std::vector<BlobAudit>> BlobAuditLog::Newest(size_t limit) const {
  std::deque<BlobAudit> newest;
  absl::Status damaged;
  const std::string prefix = TablePrefix(CatalogTable::kBlobAudit);
  absl::Status scanned = catalog_->Begin()->Scan(prefix, PrefixEnd(prefix),
                                                 [&](std::string_view, std::string_view value) {
                                                   absl::StatusOr<BlobAudit> entry = Decode(value);
                                                   if (!entry.ok()) {
                                                     damaged = entry.status();
                                                     return false;
                                                   }
                                                   newest.push_front(*std::move(entry));
                                                   if (newest.size() > limit) newest.pop_back();
                                                   return true;
                                                 });
  if (!scanned.ok()) return scanned;
  if (!damaged.ok()) return damaged;
  return std::vector<BlobAudit>(std::make_move_iterator(newest.begin()),
                                std::make_move_iterator(newest.end()));
}

}  // namespace telltale::storage
