#include "collector/filter/host/host_reply.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "collector/filter/filter_code.h"
#include "collector/filter/host/host_limits.h"
#include "proto/codec.h"
#include "proto/message_count.h"

namespace telltale::filter {
namespace {

constexpr uint32_t kMaxHistoryEpochs = 6 * 7 * 1440;  // six weeks of minutes
constexpr uint32_t kRules = 10;

absl::Status Unusable(const std::string& why) { return absl::FailedPreconditionError(why); }

void Clean(std::string* text, size_t limit) { *text = proto::SanitizeText(*text, limit); }

// Takes out what lies outside of the bounds; how many those were.
template <typename List, typename Inside>
uint64_t Keep(List* list, Inside inside) {
  const auto end = std::remove_if(list->begin(), list->end(),
                                  [&](const auto& output) { return !inside(output); });
  const auto gone = list->end() - end;
  list->erase(end, list->end());
  return static_cast<uint64_t>(gone);
}

// The collector keeps it for each node for as long as the filter runs.
void CleanMuted(std::string* muted) {
  std::string kept;
  int lines = 0;
  for (const auto& line : absl::StrSplit(*muted, '\n', absl::SkipEmpty())) {
    if (lines++ == kMaxHostMuted) break;
    absl::StrAppend(&kept, proto::SanitizeText(std::string(line), kMaxHostSubject), "\n");
  }
  *muted = std::move(kept);
}

void CleanTexts(v1::HostDone& done) {
  for (v1::HostPoint& point : *done.mutable_points()) {
    Clean(point.mutable_series(), kMaxHostName);
    Clean(point.mutable_vital(), kMaxHostName);
    Clean(point.mutable_sub(), kMaxHostName);
  }
  for (v1::HostMark& mark : *done.mutable_marks()) {
    Clean(mark.mutable_vital(), kMaxHostName);
    Clean(mark.mutable_sub(), kMaxHostName);
    Clean(mark.mutable_text(), kMaxHostText);
  }
  for (v1::HostAnomaly& anomaly : *done.mutable_anomalies()) {
    Clean(anomaly.mutable_vital(), kMaxHostName);
    Clean(anomaly.mutable_sub(), kMaxHostName);
    for (std::string* about : {anomaly.mutable_subject(), anomaly.mutable_cgroup(),
                               anomaly.mutable_device(), anomaly.mutable_site()}) {
      Clean(about, kMaxHostSubject);
    }
    for (std::string* text :
         {anomaly.mutable_text(), anomaly.mutable_evidence(), anomaly.mutable_against(),
          anomaly.mutable_cause(), anomaly.mutable_next()}) {
      Clean(text, kMaxHostText);
    }
    for (v1::HostFact& fact : *anomaly.mutable_facts()) {
      Clean(fact.mutable_name(), kMaxHostName);
      Clean(fact.mutable_unit(), kMaxHostName);
      Clean(fact.mutable_text(), kMaxHostSubject);
    }
  }
  if (done.has_learning()) {
    Clean(done.mutable_learning()->mutable_unit(), kMaxHostName);
    CleanMuted(done.mutable_learning()->mutable_muted());
  }
}

}  // namespace

DeclaredFilter::DeclaredFilter(const v1::HostDeclared& declared)
    : name_(declared.name()), about_(declared.about()), saves_(declared.saves()) {
  vitals_.assign(declared.vitals().begin(), declared.vitals().end());
  for (const std::string& vital : vitals_) vital_list_.push_back(vital.c_str());
  vital_list_.push_back(nullptr);
  filter_.struct_size = sizeof filter_;
  filter_.abi = TELLTALE_FILTER_ABI;
  filter_.name = name_.c_str();
  filter_.version = declared.version();
  filter_.needs = declared.needs();
  filter_.about = about_.c_str();
  filter_.vitals = declared.all_vitals() ? nullptr : vital_list_.data();
  filter_.history_epochs = declared.history_epochs();
  filter_.rule = declared.rule();
}

absl::StatusOr<v1::HostDeclared> ReadDeclared(const std::string& bytes) {
  v1::HostReply reply;
  const auto objects =
      proto::CountObjects(bytes, *v1::HostReply::descriptor(), kMaxDeclaredObjects + 1);
  if (objects.ok() && *objects > kMaxDeclaredObjects) {
    return Unusable(absl::StrCat("its first message has more than ", kMaxDeclaredObjects,
                                 " messages and texts"));
  }
  if (!objects.ok() || !reply.ParseFromString(bytes)) {
    return Unusable("the host's first message cannot be read");
  }
  if (reply.reply_case() == v1::HostReply::kRefused) {
    return Unusable(proto::SanitizeText(reply.refused(), kMaxHostText));
  }
  v1::HostDeclared& declared = *reply.mutable_declared();
  if (!reply.has_declared() || declared.protocol() != kHostProtocol) {
    return Unusable(absl::StrCat("telltale-filter-host speaks protocol ", declared.protocol(),
                                 ", this collector ", kHostProtocol,
                                 "; both are to be of one version: restart the collector"));
  }
  if (!ValidFilterName(declared.name())) {
    return Unusable("its name is not 1..64 bytes of [a-z0-9_-]");
  }
  if (declared.rule() > kRules) {
    return Unusable(absl::StrCat("it applies rule ", declared.rule(), ", there are ", kRules));
  }
  if (declared.history_epochs() > kMaxHistoryEpochs) {
    return Unusable(absl::StrCat("it wants ", declared.history_epochs(),
                                 " epochs of the past, limit ", kMaxHistoryEpochs));
  }
  if (declared.vitals_size() > kMaxHostVitals) {
    return Unusable(absl::StrCat("it wants more than ", kMaxHostVitals, " vitals"));
  }
  for (std::string& vital : *declared.mutable_vitals()) Clean(&vital, kMaxHostName);
  Clean(declared.mutable_about(), kMaxHostText);
  return std::move(declared);
}

absl::StatusOr<CheckedReply> ReadReply(const std::string& bytes, const ReplyBounds& bounds) {
  CheckedReply checked;
  const auto objects =
      proto::CountObjects(bytes, *v1::HostReply::descriptor(), kMaxReplyObjects + 1);
  v1::HostReply reply;
  if (objects.ok() && *objects > kMaxReplyObjects) {
    return absl::AbortedError(
        absl::StrCat("flooded: a reply of more than ", kMaxReplyObjects, " messages and texts"));
  }
  if (!objects.ok() || !reply.ParseFromString(bytes)) {
    return absl::DataLossError("its host's reply cannot be read");
  }
  reply.DiscardUnknownFields();
  if (reply.reply_case() == v1::HostReply::kHourWanted) {
    checked.wants_hour = true;
    checked.hour_ns = reply.hour_wanted();
    return checked;
  }
  if (!reply.has_done()) return absl::DataLossError("its host's reply is none to a request");
  checked.done.Swap(reply.mutable_done());
  v1::HostDone& done = checked.done;
  if (!done.failed().empty()) {
    return absl::AbortedError(proto::SanitizeText(done.failed(), kMaxHostText));
  }
  if (done.points_size() > kMaxPoints || done.marks_size() > kMaxMarks ||
      done.anomalies_size() > kMaxAnomalies) {
    return absl::AbortedError(absl::StrCat("flooded: ", done.points_size(), " points, ",
                                           done.marks_size(), " marks, ", done.anomalies_size(),
                                           " anomalies in one epoch"));
  }
  for (const v1::HostAnomaly& anomaly : done.anomalies()) {
    if (anomaly.facts_size() <= kMaxFacts) continue;
    return absl::AbortedError(
        absl::StrCat("flooded: ", anomaly.facts_size(), " facts of an anomaly"));
  }
  if (done.state().size() > FilterCode::kMaxStateBytes) {
    return absl::AbortedError(absl::StrCat("its state has ", done.state().size(), " bytes, limit ",
                                           FilterCode::kMaxStateBytes));
  }
  const auto within = [&](uint64_t from_ns, uint64_t start_ns, uint64_t end_ns) {
    return start_ns >= from_ns && start_ns <= end_ns && end_ns <= bounds.to_ns;
  };
  checked.dropped += Keep(done.mutable_points(), [&](const v1::HostPoint& point) {
    return within(bounds.from_ns, point.time_ns(), point.time_ns());
  });
  checked.dropped += Keep(done.mutable_marks(), [&](const v1::HostMark& mark) {
    return within(bounds.from_ns, mark.start_ns(), mark.end_ns());
  });
  checked.dropped += Keep(done.mutable_anomalies(), [&](const v1::HostAnomaly& anomaly) {
    return within(0, anomaly.start_ns(), anomaly.end_ns());
  });
  CleanTexts(done);
  return checked;
}

}  // namespace telltale::filter
