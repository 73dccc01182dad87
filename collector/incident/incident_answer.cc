#include "collector/incident/incident_answer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collector/filter/record/record.h"
#include "collector/formats/next_command.h"

namespace telltale::incident {
namespace {

constexpr int kShownNodes = 64, kSymptomsInList = 8, kMostLooks = 8;

double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

void Show(const v1::StoredSymptom& from, Shown shown, v1::IncidentSymptom& to) {
  to.set_node(from.node());
  to.set_filter(from.filter());
  to.set_vital(from.vital());
  to.set_sub(from.sub());
  to.set_program(from.program());
  to.set_first_s(Seconds(from.first_ns()));
  to.set_last_s(Seconds(from.last_ns()));
  to.set_count(from.count());
  to.set_text(from.text());
  to.set_node_count(std::max<uint64_t>(from.node_count(), 1));
  to.set_rule(from.rule());
  to.set_explained_by(from.explained_by());
  if (shown == Shown::kInList) return;
  *to.mutable_more_nodes() = from.more_nodes();
  to.set_cause(from.cause());
  to.set_evidence(from.evidence());
  to.set_against(from.against());
  to.set_next(formats::CompletedCommand(from.next(), from.node(), Seconds(from.first_ns()),
                                        Seconds(from.last_ns())));
  to.set_subject(from.subject());
  to.set_cgroup(from.cgroup());
  to.set_device(from.device());
  to.set_site(from.site());
  if (from.rule() == 0) return;
  if (const auto record = filter::RecordOf(from.filter(), from.filter_version())) {
    *to.mutable_record() = *record;
  }
}

}  // namespace

const char* StateText(v1::IncidentState state) {
  switch (state) {
    case v1::INCIDENT_STATE_OPEN:
      return "open";
    case v1::INCIDENT_STATE_ACKNOWLEDGED:
      return "acknowledged";
    default:
      return "resolved";
  }
}

v1::Incident ToAnswer(const v1::StoredIncident& stored, Shown shown) {
  v1::Incident answer;
  answer.set_number(stored.number());
  answer.set_state(StateText(stored.state()));
  answer.set_title(stored.title());
  answer.set_start_s(Seconds(stored.start_ns()));
  answer.set_last_s(Seconds(stored.last_ns()));
  answer.set_resolved_s(Seconds(stored.resolved_ns()));
  answer.set_anomalies(stored.anomalies());
  for (int i = 0; i < std::min(stored.nodes_size(), kShownNodes); ++i) {
    answer.add_nodes(stored.nodes(i));
  }
  answer.set_node_count(stored.node_count());
  answer.set_symptoms_left_out(stored.symptoms_left_out());
  answer.set_silenced(stored.silenced());
  answer.set_merged_into(stored.merged_into());
  answer.set_acknowledged_by(stored.acknowledged_by());
  answer.set_acknowledged_s(Seconds(stored.acknowledged_ns()));
  for (const v1::StoredSymptom& from : stored.symptoms()) {
    if (shown == Shown::kInList && answer.symptoms_size() == kSymptomsInList) break;
    Show(from, shown, *answer.add_symptoms());
  }
  for (const v1::StoredIncidentNote& from : stored.notes()) {
    v1::IncidentNote& to = *answer.add_notes();
    to.set_time_s(Seconds(from.time_ns()));
    to.set_who(from.who());
    to.set_text(from.text());
  }
  return answer;
}

std::string LastDone(const v1::Incident& incident) {
  const auto& notes = incident.notes();
  const auto last = std::find_if(notes.rbegin(), notes.rend(),
                                 [](const v1::IncidentNote& note) { return !note.who().empty(); });
  return last == notes.rend() ? "" : last->text();
}

void AddPeers(const PeerLook& look, const std::function<bool()>& cancelled,
              std::chrono::milliseconds time, v1::Incident& incident) {
  const auto until = std::chrono::steady_clock::now() + time;
  const auto over = [&] {
    return std::chrono::steady_clock::now() >= until || (cancelled && cancelled());
  };
  int looks = 0;
  for (v1::IncidentSymptom& symptom : *incident.mutable_symptoms()) {
    if (symptom.rule() == 0 || symptom.explained_by() != 0) continue;
    if (++looks > kMostLooks) return;
    const absl::StatusOr<std::string> text =
        over() ? absl::CancelledError("its time is over") : look(symptom, over);
    if (text.ok()) {
      symptom.set_peers(*text);
    } else if (absl::IsCancelled(text.status())) {
      symptom.set_peers(
          absl::StrCat("not looked at: for all of the incident there were ", time.count(), " ms"));
    } else {
      symptom.set_peers(absl::StrCat("not compared: ", text.status().message()));
    }
  }
}

}  // namespace telltale::incident
