#include "collector/filter/host/outputs.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/filter/host/host_limits.h"

namespace telltale::filter {
namespace {

std::string Text(const char* text, size_t limit) {
  if (text == nullptr) return "";
  return std::string(text, strnlen(text, limit));
}

}  // namespace

bool Outputs::RoomFor(int have, int most, const char* what) {
  if (have < most && taken_.failed().empty()) return true;
  if (taken_.failed().empty()) {
    taken_.set_failed(absl::StrCat("flooded: more than ", most, " ", what, " in one epoch"));
  }
  return false;
}

void Outputs::Take(const telltale_filter_point& point) {
  if (!RoomFor(taken_.points_size(), kMaxPoints, "points")) return;
  v1::HostPoint& to = *taken_.add_points();
  to.set_series(Text(point.series, kMaxHostName));
  to.set_vital(Text(point.vital, kMaxHostName));
  to.set_sub(Text(point.sub, kMaxHostName));
  to.set_time_ns(point.time_ns);
  to.set_value(point.value);
}

void Outputs::Take(const telltale_filter_mark& mark) {
  if (!RoomFor(taken_.marks_size(), kMaxMarks, "marks")) return;
  v1::HostMark& to = *taken_.add_marks();
  to.set_vital(Text(mark.vital, kMaxHostName));
  to.set_sub(Text(mark.sub, kMaxHostName));
  to.set_start_ns(mark.start_ns);
  to.set_end_ns(mark.end_ns);
  to.set_text(Text(mark.text, kMaxHostText));
}

void Outputs::Take(const telltale_filter_anomaly& anomaly) {
  if (!RoomFor(taken_.anomalies_size(), kMaxAnomalies, "anomalies")) return;
  v1::HostAnomaly& to = *taken_.add_anomalies();
  to.set_open(anomaly.open != 0);
  to.set_vital(Text(anomaly.vital, kMaxHostName));
  to.set_sub(Text(anomaly.sub, kMaxHostName));
  to.set_start_ns(anomaly.start_ns);
  to.set_end_ns(anomaly.end_ns);
  to.set_value(anomaly.value);
  to.set_expected(anomaly.expected);
  to.set_deviation(anomaly.deviation);
  to.set_severity(anomaly.severity);
  to.set_learned_epochs(anomaly.learned_epochs);
  to.set_text(Text(anomaly.text, kMaxHostText));
  if (!TELLTALE_FILTER_HAS(&anomaly, telltale_filter_anomaly, next)) return;
  to.set_subject(Text(anomaly.subject, kMaxHostSubject));
  to.set_evidence(Text(anomaly.evidence, kMaxHostText));
  to.set_against(Text(anomaly.against, kMaxHostText));
  to.set_cause(Text(anomaly.cause, kMaxHostText));
  to.set_next(Text(anomaly.next, kMaxHostText));
  if (!TELLTALE_FILTER_HAS(&anomaly, telltale_filter_anomaly, site)) return;
  to.set_cgroup(Text(anomaly.cgroup, kMaxHostSubject));
  to.set_device(Text(anomaly.device, kMaxHostSubject));
  to.set_site(Text(anomaly.site, kMaxHostSubject));
  if (!TELLTALE_FILTER_HAS(&anomaly, telltale_filter_anomaly, facts)) return;
  if (anomaly.facts == nullptr) return;
  for (uint32_t i = 0; i < anomaly.fact_count; ++i) {
    if (!RoomFor(to.facts_size(), kMaxFacts, "facts of an anomaly")) return;
    const auto& fact = *TELLTALE_FILTER_AT(telltale_filter_fact, anomaly.facts, i);
    v1::HostFact& told = *to.add_facts();
    told.set_name(Text(fact.name, kMaxHostName));
    told.set_value(fact.value);
    told.set_unit(Text(fact.unit, kMaxHostName));
    told.set_text(Text(fact.text, kMaxHostSubject));
  }
}

bool Outputs::TakeHour() { return RoomFor(hours_++, kMaxHours, "hours of the past asked for"); }

void Outputs::MoveTo(v1::HostDone& done) {
  done.Swap(&taken_);
  taken_.Clear();
  hours_ = 0;
}

}  // namespace telltale::filter
