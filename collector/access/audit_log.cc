#include "collector/access/audit_log.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

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

double UnixSeconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

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

v1::AuditEntry Shown(const v1::StoredAuditEntry& stored) {
  v1::AuditEntry entry;
  entry.set_time_s(UnixSeconds(stored.time_ns()));
  entry.set_time(AuditLog::Moment(entry.time_s()));
  entry.set_who(stored.who());
  entry.set_address(stored.address());
  entry.set_action(stored.action());
  entry.set_detail(stored.detail());
  entry.set_refused(stored.refused());
  entry.set_unlisted(stored.unlisted());
  entry.set_count(stored.count());
  return entry;
}

const char* NameOf(AuditKind kind) {
  switch (kind) {
    case AuditKind::kDone:
      return "entries of the audit";
    case AuditKind::kRefused:
      return "refusals of the audit";
    case AuditKind::kAsked:
      return "questions of the audit";
  }
  return "";
}

uint64_t KeptOf(AuditKind kind) {
  switch (kind) {
    case AuditKind::kDone:
      return AuditLog::kKeptOrders;
    case AuditKind::kRefused:
      return AuditLog::kKeptRefusals;
    case AuditKind::kAsked:
      return AuditLog::kKeptQuestions;
  }
  return 0;
}

// "db-1, db-2, all with role=db": as much of it as an entry has room for.
std::string NodesText(const v1::Selection& selection) {
  std::string text;
  const auto add = [&text](const char* before, const std::string& name) {
    if (text.size() < kTextBytes) absl::StrAppend(&text, text.empty() ? "" : ", ", before, name);
  };
  for (const std::string& node : selection.nodes()) add("", node);
  for (const std::string& label : selection.label_matches()) add("all with ", label);
  return text.empty() ? "all nodes" : text;
}

absl::Status Check(const v1::ListAuditRequest& request) {
  if (request.limit() > AuditLog::kMaxLimit) {
    return absl::InvalidArgumentError(absl::StrCat("audit: limit ", request.limit(),
                                                   " must be at most ", AuditLog::kMaxLimit,
                                                   "; ask for fewer and follow next_page"));
  }
  const double start_s = request.start_s(), end_s = request.end_s();
  if (start_s >= 0 && end_s >= 0 && (end_s == 0 || start_s < end_s)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("audit: from ", start_s, " to ", end_s,
                                                 " is no time; give start_s before end_s"));
}

// As the answer shows the time.
bool Within(const v1::ListAuditRequest& request, uint64_t time_ns) {
  const double time_s = UnixSeconds(time_ns);
  return time_s >= request.start_s() && (request.end_s() == 0 || time_s < request.end_s());
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(storage::Catalog* catalog, Now now) {
  std::unique_ptr<AuditLog> log(new AuditLog(catalog, std::move(now)));
  for (const AuditKind kind : kAuditKinds) {
    uint64_t& next = log->Next(kind);
    const auto read = storage::ReadReadable(
        *catalog, AuditPrefix(kind), NameOf(kind), "telltale audit does not show them",
        [&](std::string_view key, std::string_view) {
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

absl::Status AuditLog::Write(AuditKind kind, const v1::StoredAuditEntry& entry) {
  uint64_t& next = Next(kind);
  const uint64_t kept = KeptOf(kind);
  auto transaction = catalog_->Begin();
  transaction->Put(AuditKey(kind, next), proto::Canonical(entry));
  if (next >= kept) transaction->Delete(AuditKey(kind, next - kept));
  absl::Status written = transaction->Commit(
      kind == AuditKind::kDone ? storage::Durability::kDurable : storage::Durability::kBuffered);
  if (written.ok()) ++next;
  return written;
}

absl::Status AuditLog::Done(const std::string& who, const std::string& address,
                            const std::string& action, const std::string& detail) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Write(AuditKind::kDone, Entry(now_(), who, address, action, detail));
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
  if (!Write(AuditKind::kRefused, entry).ok()) {
    ++unlisted_;
    return;
  }
  refusal_due_ns_ = due;
  unlisted_ = 0;
}

void AuditLog::Asked(const std::string& who, const std::string& address, const std::string& action,
                     const v1::Selection& selection) {
  const std::lock_guard<std::mutex> lock(mutex_);
  QuestionCounts::Question& question =
      questions_.Count(Entry(now_(), who, address, action, NodesText(selection)),
                       [this](QuestionCounts::Question& over) { WriteCount(over); });
  // A row is written again each time its count has doubled.
  if (std::has_single_bit(question.entry.count())) WriteCount(question);
}

void AuditLog::WriteCount(QuestionCounts::Question& question) {
  if (question.written == question.entry.count()) return;
  if (!question.number) {
    const uint64_t number = Next(AuditKind::kAsked);
    if (!Write(AuditKind::kAsked, question.entry).ok()) return;
    question.number = number;
  } else if (*question.number + kKeptQuestions >= Next(AuditKind::kAsked)) {
    auto transaction = catalog_->Begin();
    transaction->Put(AuditKey(AuditKind::kAsked, *question.number),
                     proto::Canonical(question.entry));
    if (!transaction->Commit(storage::Durability::kBuffered).ok()) return;
  }
  question.written = question.entry.count();
}

AuditLog::~AuditLog() {
  questions_.ForEach([this](QuestionCounts::Question& question) { WriteCount(question); });
}

absl::Status AuditLog::ForEach(AuditKind kind, const std::function<void(Kept)>& visit) const {
  const std::string prefix = AuditPrefix(kind);
  AuditPlace last = {.time_ns = 0, .kind = kind, .number = 0};
  return catalog_->Begin()->ScanOver(
      prefix, storage::PrefixEnd(prefix),
      [&](std::string_view key, std::string_view value) {
        Kept kept;
        if (!kept.entry.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          kept.entry.set_time_ns(last.time_ns);
          kept.entry.set_action("(an entry that cannot be read)");
        }
        last.time_ns = kept.entry.time_ns();
        last.number = storage::DecodeU64(key.substr(kKindBytes)).value_or(last.number);
        kept.place = last;
        visit(std::move(kept));
        return true;
      },
      [&](const storage::DamagedRange& range) {
        Kept kept;
        ++last.number;  // the first of those that are lost
        kept.place = last;
        kept.entry.set_time_ns(last.time_ns);
        kept.entry.set_action(absl::StrCat("(about ", range.rows, " entries that cannot be read)"));
        kept.entry.set_refused(kind == AuditKind::kRefused);
        visit(std::move(kept));
      });
}

std::string AuditLog::Moment(double unix_s) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(static_cast<int64_t>(unix_s)),
                          absl::UTCTimeZone());
}

absl::StatusOr<v1::ListAuditAnswer> AuditLog::List(const v1::ListAuditRequest& request) {
  if (absl::Status status = Check(request); !status.ok()) return status;
  std::optional<AuditPlace> behind;
  if (!request.page().empty()) {
    const auto place = ParseAuditPlace(request.page());
    if (!place.ok()) return place.status();
    behind = *place;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    questions_.ForEach([this](QuestionCounts::Question& question) { WriteCount(question); });
  }
  std::vector<Kept> entries;
  for (const AuditKind kind : kAuditKinds) {
    const absl::Status status = ForEach(kind, [&](Kept kept) {
      if (behind && kept.place >= *behind) return;
      if (Within(request, kept.place.time_ns)) entries.push_back(std::move(kept));
    });
    if (!status.ok()) return status;
  }
  std::ranges::sort(entries, std::ranges::greater(), &Kept::place);
  v1::ListAuditAnswer answer;
  const size_t most = request.limit() == 0 ? kUsualLimit : request.limit();
  if (entries.size() > most) {
    answer.set_left_out(static_cast<uint32_t>(entries.size() - most));
    entries.resize(most);
    answer.set_next_page(entries.back().place.Page());
  }
  for (const Kept& kept : entries) *answer.add_entries() = Shown(kept.entry);
  return answer;
}

}  // namespace telltale::access
