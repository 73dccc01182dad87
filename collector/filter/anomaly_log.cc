#include "collector/filter/anomaly_log.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "collector/filter/record/record.h"
#include "proto/codec.h"

namespace telltale::filter {
namespace {

constexpr char kHeadName[] = "anomaly-log/head";
constexpr char kWhyHead[] = "an anomaly could be given another's number";
constexpr uint64_t kMillisecond = 1'000'000;
// Of one filter, counted apart. A user's may name vitals without end, and what is counted is stored
// with each entry.
constexpr size_t kMaxVitals = 64;
constexpr char kOtherVitals[] = "[other]";

double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }
double Micro(int64_t value) { return static_cast<double>(value) / 1e6; }

std::string IdOf(const v1::LoggedAnomaly& entry) {
  return AnomalyId(entry.filter(), entry.filter_version(), entry.node(), entry.anomaly());
}

}  // namespace

std::string AnomalyId(std::string_view filter, uint32_t version, std::string_view node,
                      const v1::FilterAnomaly& anomaly) {
  return absl::StrCat(std::string(filter), "/", version, "/", std::string(node), "/",
                      anomaly.vital(), "/", anomaly.sub(), "/", anomaly.start_ns() / kMillisecond,
                      anomaly.subject().empty() ? "" : "/", anomaly.subject());
}

v1::Anomaly ToAnswer(std::string_view filter, uint32_t version, std::string_view node,
                     const v1::FilterAnomaly& anomaly) {
  v1::Anomaly answer;
  answer.set_id(AnomalyId(filter, version, node, anomaly));
  answer.set_filter(std::string(filter));
  answer.set_filter_version(version);
  answer.set_node(std::string(node));
  answer.set_vital(anomaly.vital());
  answer.set_sub(anomaly.sub());
  answer.set_start_s(Seconds(anomaly.start_ns()));
  answer.set_end_s(Seconds(anomaly.end_ns()));
  answer.set_value(Micro(anomaly.value_micro()));
  answer.set_expected(Micro(anomaly.expected_micro()));
  answer.set_deviation(Micro(anomaly.deviation_micro()));
  answer.set_severity(static_cast<double>(anomaly.severity_milli()) / 1e3);
  answer.set_text(anomaly.text());
  answer.set_learned_epochs(static_cast<double>(anomaly.learned_epochs()));
  answer.set_found_s(Seconds(anomaly.found_ns()));
  answer.set_subject(anomaly.subject());
  answer.set_evidence(anomaly.evidence());
  answer.set_against(anomaly.against());
  answer.set_cause(anomaly.cause());
  answer.set_next(anomaly.next());
  answer.set_rule(anomaly.rule());
  answer.set_open(anomaly.open());
  answer.set_cgroup(anomaly.cgroup());
  answer.set_device(anomaly.device());
  answer.set_site(anomaly.site());
  for (const v1::FilterFact& fact : anomaly.facts()) {
    v1::Fact& told = *answer.add_facts();
    told.set_name(fact.name());
    told.set_value(Micro(fact.value_micro()));
    told.set_unit(fact.unit());
    told.set_text(fact.text());
  }
  if (anomaly.rule() != 0) {
    if (const auto record = RecordOf(filter, version)) *answer.mutable_record() = *record;
  }
  return answer;
}

absl::StatusOr<std::unique_ptr<AnomalyLog>> AnomalyLog::Open(AnomalyLogOptions options) {
  std::unique_ptr<AnomalyLog> log(new AnomalyLog(options));
  if (auto status = log->Load(); !status.ok()) return status;
  return log;
}

std::string AnomalyLog::SlotName(uint64_t number) const {
  return absl::StrCat("anomaly-log/", number % options_.kept);
}

absl::Status AnomalyLog::Load() {
  const std::lock_guard lock(mutex_);
  const auto bytes = options_.store->GetState(kHeadName);
  if (!bytes.ok() && !absl::IsNotFound(bytes.status())) {
    return options_.store->StateNeeded(bytes.status(), kHeadName, kWhyHead);
  }
  if (bytes.ok() && !head_.ParseFromString(*bytes)) {
    return options_.store->StateNeeded(absl::DataLossError("it is no head of an anomaly log"),
                                       kHeadName, kWhyHead);
  }
  const uint64_t first =
      head_.number() - std::min({head_.number(), options_.recent, options_.kept}) + 1;
  uint64_t lost = 0;
  std::string fault;
  for (uint64_t number = first; number <= head_.number(); ++number) {
    auto entry = Read(number);
    if (!entry.ok() && !absl::IsDataLoss(entry.status())) return entry.status();
    if (!entry.ok() && lost++ == 0) fault = std::string(entry.status().message());
    Remember(entry.ok() ? *std::move(entry) : v1::LoggedAnomaly());
  }
  if (lost != 0) {
    options_.store->NoteLost(lost, "entries of the anomaly log",
                             "who follows anomalies is not shown them", fault);
  }
  published_ = head_.number();
  return absl::OkStatus();
}

absl::StatusOr<v1::LoggedAnomaly> AnomalyLog::Read(uint64_t number) const {
  const auto bytes = options_.store->GetState(SlotName(number));
  if (!bytes.ok()) return bytes.status();
  v1::LoggedAnomaly entry;
  if (!entry.ParseFromString(*bytes)) {
    return absl::DataLossError(absl::StrCat("anomaly log: entry ", number, " is damaged"));
  }
  if (entry.number() != number) {
    // An older one shows again where the newer was in a file that is gone.
    return absl::DataLossError(absl::StrCat("anomaly log: entry ", number, " is gone"));
  }
  return entry;
}

void AnomalyLog::Count(const v1::LoggedAnomaly& entry, v1::AnomalyLogHead& head) {
  head.set_number(entry.number());
  const std::string& filter = entry.filter();
  size_t vitals = 0;
  const auto counted = [&](std::string_view vital) {
    vitals = 0;
    for (v1::AnomalyCount& count : *head.mutable_counts()) {
      if (count.filter() != filter) continue;
      ++vitals;
      if (count.vital() != vital) continue;
      count.set_count(count.count() + 1);
      return true;
    }
    return false;
  };
  if (counted(entry.anomaly().vital())) return;
  const bool full = vitals >= kMaxVitals;
  if (full && counted(kOtherVitals)) return;
  v1::AnomalyCount& count = *head.add_counts();
  count.set_filter(filter);
  count.set_vital(full ? kOtherVitals : entry.anomaly().vital());
  count.set_count(1);
}

void AnomalyLog::Remember(const v1::LoggedAnomaly& entry) {
  recent_.push_back(entry);
  recent_ids_.insert(IdOf(entry));
  ++recent_by_node_[entry.node()];
  if (recent_.size() <= options_.recent) return;
  const v1::LoggedAnomaly& oldest = recent_.front();
  recent_ids_.erase(IdOf(oldest));
  if (--recent_by_node_[oldest.node()] == 0) recent_by_node_.erase(oldest.node());
  recent_.pop_front();
}

absl::StatusOr<bool> AnomalyLog::Append(std::string_view filter, uint32_t version,
                                        std::string_view node, const v1::FilterAnomaly& anomaly) {
  const std::lock_guard lock(mutex_);
  v1::LoggedAnomaly entry;
  entry.set_node(std::string(node));
  entry.set_filter(std::string(filter));
  entry.set_filter_version(version);
  *entry.mutable_anomaly() = anomaly;
  if (recent_ids_.contains(IdOf(entry))) return false;
  entry.set_number(head_.number() + 1);
  v1::AnomalyLogHead head = head_;
  Count(entry, head);
  const auto status = options_.store->PutStates(
      {{SlotName(entry.number()), proto::Canonical(entry)}, {kHeadName, proto::Canonical(head)}},
      storage::Durability::kBuffered);
  if (!status.ok()) return status;
  head_ = std::move(head);
  Remember(entry);
  return true;
}

absl::Status AnomalyLog::Publish() {
  {
    const std::lock_guard lock(mutex_);
    if (published_ == head_.number()) return absl::OkStatus();
    auto status =
        options_.store->PutState(kHeadName, proto::Canonical(head_), storage::Durability::kDurable);
    if (!status.ok()) return status;
    published_ = head_.number();
  }
  waiters_.WakeAll();
  return absl::OkStatus();
}

std::string AnomalyLog::NowCursor() const {
  const std::lock_guard lock(mutex_);
  return absl::StrCat(published_);
}

absl::StatusOr<std::vector<v1::Anomaly>> AnomalyLog::After(const std::string& cursor,
                                                           size_t limit) const {
  uint64_t after = 0;
  const std::lock_guard lock(mutex_);
  if (!absl::SimpleAtoi(cursor, &after) || after > published_) {
    return absl::InvalidArgumentError(
        absl::StrCat("follow anomalies: cursor \"", proto::SanitizeText(cursor, 32),
                     "\" is not of this store, its last is ", published_,
                     "; follow without a cursor to begin now"));
  }
  const uint64_t oldest = head_.number() - std::min(head_.number(), options_.kept) + 1;
  if (after + 1 < oldest) {
    return absl::OutOfRangeError(
        absl::StrCat("follow anomalies: ", oldest - after - 1, " after cursor ", after,
                     " are no longer in the log of ", options_.kept,
                     "; list them by time, go on with cursor ", oldest - 1));
  }
  std::vector<v1::Anomaly> found;
  for (uint64_t number = after + 1; number <= published_ && found.size() < limit; ++number) {
    v1::LoggedAnomaly entry;
    const uint64_t first_recent = head_.number() - recent_.size() + 1;
    if (number >= first_recent) {
      entry = recent_[static_cast<size_t>(number - first_recent)];
    } else {
      auto read = Read(number);
      if (!read.ok() && !absl::IsDataLoss(read.status())) return read.status();
      if (read.ok()) entry = *std::move(read);
    }
    if (entry.filter().empty()) continue;  // damage took it
    found.push_back(
        ToAnswer(entry.filter(), entry.filter_version(), entry.node(), entry.anomaly()));
    found.back().set_cursor(absl::StrCat(number));
  }
  return found;
}

std::map<std::pair<std::string, std::string>, uint64_t> AnomalyLog::Counts() const {
  const std::lock_guard lock(mutex_);
  std::map<std::pair<std::string, std::string>, uint64_t> counts;
  for (const v1::AnomalyCount& count : head_.counts()) {
    counts[{count.filter(), count.vital()}] = count.count();
  }
  return counts;
}

uint64_t AnomalyLog::Recent(const std::string& node) const {
  const std::lock_guard lock(mutex_);
  const auto found = recent_by_node_.find(node);
  return found == recent_by_node_.end() ? 0 : found->second;
}

}  // namespace telltale::filter
