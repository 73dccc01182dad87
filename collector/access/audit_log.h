// Who did what: orders of operators, what was refused to whom, and who opened samples, which may
// carry names of processes, users and paths. The latest of each are kept in the catalog (table 0e).
// Refusals that come fast are counted and not listed, questions of the same kind about the same
// nodes are one entry an hour (question_counts.h), so neither the disk nor the list is at the mercy
// of who knocks or asks.
//
// Thread-safe. Owned by the collector; the catalog outlives it.

#ifndef TELLTALE_COLLECTOR_ACCESS_AUDIT_LOG_H_
#define TELLTALE_COLLECTOR_ACCESS_AUDIT_LOG_H_

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/access/access_keys.h"
#include "collector/access/audit_place.h"
#include "collector/access/question_counts.h"
#include "storage/catalog.h"
#include "telltale/v1/access.pb.h"
#include "telltale/v1/query.pb.h"

namespace telltale::access {

class AuditLog {
 public:
  static constexpr uint64_t kKeptOrders = 10'000;
  static constexpr uint64_t kKeptRefusals = 2'000;
  static constexpr uint64_t kKeptQuestions = 10'000;
  static constexpr uint64_t kRefusalEveryNs = 1'000'000'000;  // one is listed, on average ...
  static constexpr uint64_t kRefusalsAtOnce = 30;             // ... and so many at once
  static constexpr uint32_t kUsualLimit = 100;
  static constexpr uint32_t kMaxLimit = 1'000;

  using Now = std::function<uint64_t()>;  // ns since 1970

  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(storage::Catalog* catalog, Now now);
  ~AuditLog();

  // What an operator did; durable when it returns. Text is cut and made printable.
  absl::Status Done(const std::string& who, const std::string& address, const std::string& action,
                    const std::string& detail);
  // What somebody was not let do. Survives a crash of the process; a failed write is counted with
  // those that are not listed.
  void Refused(const std::string& who, const std::string& address, const std::string& action,
               const std::string& why);

  // That somebody asked for samples ("samples", "stacks", "flame", "investigate") of these nodes.
  // Survives a crash of the process, its count but for the last half; nobody waits for it.
  void Asked(const std::string& who, const std::string& address, const std::string& action,
             const v1::Selection& selection);

  // A moment in words of an entry: RFC 3339 in UTC, "2026-11-22T18:00:00Z".
  static std::string Moment(double unix_s);

  // Newest first, with the page that goes on behind and how many are there; what is written
  // meanwhile moves none from one page to another. InvalidArgument: limit, page, times.
  absl::StatusOr<v1::ListAuditAnswer> List(const v1::ListAuditRequest& request);

 private:
  AuditLog(storage::Catalog* catalog, Now now) : catalog_(catalog), now_(std::move(now)) {}
  // What a row holds, also one that cannot be read or a range of such.
  struct Kept {
    AuditPlace place;
    v1::StoredAuditEntry entry;
  };
  absl::Status Write(AuditKind kind, const v1::StoredAuditEntry& entry);
  absl::Status ForEach(AuditKind kind, const std::function<void(Kept)>& visit) const;
  void WriteCount(QuestionCounts::Question& question);
  uint64_t& Next(AuditKind kind) { return next_[static_cast<size_t>(kind)]; }

  storage::Catalog* const catalog_;
  const Now now_;
  mutable std::mutex mutex_;
  uint64_t next_[std::size(kAuditKinds)] = {};  // number of the next of a kind; guarded by mutex_
  uint64_t refusal_due_ns_ = 0;  // when the bucket of refusals would be full; guarded by mutex_
  uint64_t unlisted_ = 0;        // guarded by mutex_
  QuestionCounts questions_;     // guarded by mutex_
};

}  // namespace telltale::access

#endif  // TELLTALE_COLLECTOR_ACCESS_AUDIT_LOG_H_
