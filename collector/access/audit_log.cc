#include "collector/access/audit_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/access/access_keys.h"
#include "proto/codec.h"
#include "storage/catalog_damage.h"
#include "storage/keys.h"

namespace telltale::access {
namespace {

constexpr size_t kTextBytes = 300;
constexpr size_t kKindBytes = 2;  // of the key, before the number
// More than are written in the life of a store.
constexpr uint64_t kBeyondAll = uint64_t{1} << 32;

v1::StoredAuditEntry Entry(uint64_t time_ns, const std::string& who, const std::string& address,
                           const std::string& action, const std::string& detail) {
  v1::StoredAuditEntry entry;
  entry.set_time_ns(time_ns);
  entry.set_who(proto::SanitizeText(who, kTextBytes));
  entry.set_address(proto::SanitizeText(address, kTextBytes));
  entry.set_action(proto::SanitizeText(action, kTextBytes));
  entry.set_detail(proto::SanitizeText(detail, kTextBytes));
  return entry;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(storage::Catalog* catalog, Now now) {
  std::unique_ptr<AuditLog> log(new AuditLog(catalog, std::move(now)));
  for (const bool refused : {false, true}) {
    uint64_t& next = log->next_[refused ? 1 : 0];
    const auto read = storage::ReadReadable(
        *catalog, AuditPrefix(refused), refused ? "refusals of the audit" : "entries of the audit",
        "telltale audit does not show them", [&](std::string_view key, std::string_view) {
          const auto number = storage::DecodeU64(key.substr(kKindBytes));
          if (!number.ok()) return number.status();
          next = *number + 1;
          return absl::OkStatus();
        });
    if (!read.ok()) return read.status();
    // The last ones may be lost: beyond all there can be of them no number is given twice.
    const bool last_lost = std::ranges::any_of(
        read->ranges, [](const storage::DamagedRange& range) { return range.before.empty(); });
    if (last_lost) next += kBeyondAll;
  }
  return log;
}

absl::Status AuditLog::Write(bool refused, const v1::StoredAuditEntry& entry) {
  uint64_t& next = next_[refused ? 1 : 0];
  const uint64_t kept = refused ? kKeptRefusals : kKeptOrders;
  auto transaction = catalog_->Begin();
  transaction->Put(AuditKey(refused, next), proto::Canonical(entry));
  if (next >= kept) transaction->Delete(AuditKey(refused, next - kept));
  absl::Status written =
      transaction->Commit(refused ? storage::Durability::kBuffered : storage::Durability::kDurable);
  if (written.ok()) ++next;
  return written;
}

absl::Status AuditLog::Done(const std::string& who, const std::string& address,
                            const std::string& action, const std::string& detail) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Write(false, Entry(now_(), who, address, action, detail));
}

void AuditLog::Refused(const std::string& who, const std::string& address,
                       const std::string& action, const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t now = now_();
  const uint64_t due = std::max(refusal_due_ns_, now) + kRefusalEveryNs;
  if (due > now + kRefusalsAtOnce * kRefusalEveryNs) {
    ++unlisted_;
    return;
  }
  v1::StoredAuditEntry entry = Entry(now, who, address, action, why);
  entry.set_refused(true);
  entry.set_unlisted(unlisted_);
  if (!Write(true, entry).ok()) {
    ++unlisted_;
    return;
  }
  refusal_due_ns_ = due;
  unlisted_ = 0;
}

absl::Status AuditLog::Collect(bool refused, std::vector<v1::StoredAuditEntry>* entries) const {
  const std::string prefix = AuditPrefix(refused);
  uint64_t last_ns = 0;
  return catalog_->Begin()->ScanOver(
      prefix, storage::PrefixEnd(prefix),
      [&](std::string_view, std::string_view value) {
        v1::StoredAuditEntry& entry = entries->emplace_back();
        if (!entry.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          entry.set_action("(an entry that cannot be read)");
        }
        last_ns = entry.time_ns();
        return true;
      },
      [&](const storage::DamagedRange& range) {
        v1::StoredAuditEntry& entry = entries->emplace_back();
        entry.set_time_ns(last_ns);
        entry.set_action(absl::StrCat("(about ", range.rows, " entries that cannot be read)"));
        entry.set_refused(refused);
      });
}

std::string AuditLog::Moment(double unix_s) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(static_cast<int64_t>(unix_s)),
                          absl::UTCTimeZone());
}

absl::StatusOr<std::vector<v1::AuditEntry>> AuditLog::List(uint32_t limit) const {
  if (limit > kMaxLimit) {
    return absl::InvalidArgumentError(
        absl::StrCat("audit: limit ", limit, " must be at most ", kMaxLimit));
  }
  std::vector<v1::StoredAuditEntry> entries;
  for (const bool refused : {false, true}) {
    if (absl::Status status = Collect(refused, &entries); !status.ok()) return status;
  }
  std::ranges::stable_sort(entries, std::ranges::greater(), &v1::StoredAuditEntry::time_ns);
  if (const size_t most = limit == 0 ? kUsualLimit : limit; entries.size() > most) {
    entries.resize(most);
  }
  std::vector<v1::AuditEntry> list;
  for (const v1::StoredAuditEntry& stored : entries) {
    v1::AuditEntry& entry = list.emplace_back();
    entry.set_time_s(static_cast<double>(stored.time_ns()) / 1e9);
    entry.set_time(Moment(entry.time_s()));
    entry.set_who(stored.who());
    entry.set_address(stored.address());
    entry.set_action(stored.action());
    entry.set_detail(stored.detail());
    entry.set_refused(stored.refused());
    entry.set_unlisted(stored.unlisted());
  }
  return list;
}

}  // namespace telltale::access
