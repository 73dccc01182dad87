#include "collector/incident/incident_match.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace telltale::incident {
namespace {

// What is stored of an incident stays below DerivedStore::kMaxStateBytes, if only just where a
// user's filter writes as much as it may and people do, too.
constexpr int kMaxNodes = 2'048, kMaxSymptoms = 64, kMaxMoreNodes = 31;

// How long after the end of a fault, which is told to the epoch, a symptom may begin that it
// explains; and how long before its begin it may be over.
constexpr uint64_t kAfterwardsNs = 60'000'000'000, kBeforehandNs = 600'000'000'000;

// "blocking" or "blocking/disk": what the fault of a rule drives up on its node, whoever shows it.
struct Effects {
  uint32_t rule;
  std::string_view vitals[8];
};
constexpr Effects kEffects[] = {
    {1, {"cpu", "sched_delay"}},
    {2, {"user_page", "kernel_page", "reclaim"}},
    {3, {"disk_io", "blocking/disk", "blocking/uninterruptible"}},
    {4, {"cpu", "sched_delay", "softirq"}},
    {5, {"blocking", "lock"}},
    {6,
     {"user_page", "kernel_page", "reclaim", "disk_io", "blocking/disk",
      "blocking/uninterruptible"}},
    {7, {"sched_delay"}},
    {8, {"syscall", "cpu", "sched_delay"}},
    {9, {"cpu", "sched_delay", "syscall", "user_page", "kernel_page", "socket", "signal"}},
};

bool Drives(uint32_t rule, const v1::StoredSymptom& symptom) {
  const auto of = std::ranges::find(kEffects, rule, &Effects::rule);
  if (of == std::end(kEffects)) return false;
  return std::ranges::any_of(of->vitals, [&](std::string_view effect) {
    return !effect.empty() &&
           (effect == symptom.vital() || effect == symptom.vital() + "/" + symptom.sub());
  });
}

bool IsOn(const v1::StoredSymptom& symptom, const std::string& node) {
  return symptom.node() == node || std::ranges::count(symptom.more_nodes(), node) > 0;
}

bool SharesNode(const v1::StoredSymptom& a, const v1::StoredSymptom& b) {
  return IsOn(b, a.node()) || std::ranges::any_of(a.more_nodes(), [&](const std::string& node) {
           return IsOn(b, node);
         });
}

// Both say what they are about, and it is the same.
bool Same(const std::string& a, const std::string& b) { return !a.empty() && a == b; }

// Whether something of one node that both name, or one place in the code, ties them together. Of a
// vital that the node as a whole shows anybody may be the reason; but once a diagnosis explains it,
// nobody else is.
bool HasInCommon(const v1::StoredSymptom& symptom, const v1::StoredSymptom& found) {
  if (Same(symptom.program(), found.program()) || Same(symptom.cgroup(), found.cgroup()) ||
      Same(symptom.device(), found.device()) || Same(symptom.site(), found.site())) {
    return true;
  }
  const bool of_the_node = symptom.program().empty() || found.program().empty();
  return of_the_node && symptom.explained_by() == 0 && Same(symptom.vital(), found.vital());
}

v1::StoredSymptom SymptomOf(const v1::Anomaly& anomaly) {
  v1::StoredSymptom symptom;
  symptom.set_node(anomaly.node());
  symptom.set_filter(anomaly.filter());
  symptom.set_filter_version(anomaly.filter_version());
  symptom.set_vital(anomaly.vital());
  symptom.set_sub(anomaly.sub());
  symptom.set_program(ProgramOfSubject(anomaly.subject()));
  symptom.set_first_ns(NsOf(anomaly.start_s()));
  symptom.set_last_ns(NsOf(anomaly.found_s()));
  symptom.set_count(1);
  symptom.set_node_count(1);
  symptom.set_text(anomaly.text());
  symptom.set_rule(anomaly.rule());
  if (anomaly.rule() != 0 && !anomaly.open()) symptom.set_ended_ns(NsOf(anomaly.end_s()));
  symptom.set_cause(anomaly.cause());
  symptom.set_evidence(anomaly.evidence());
  symptom.set_against(anomaly.against());
  symptom.set_next(anomaly.next());
  symptom.set_subject(anomaly.subject());
  symptom.set_cgroup(anomaly.cgroup());
  symptom.set_device(anomaly.device());
  symptom.set_site(anomaly.site());
  return symptom;
}

void AddNode(v1::StoredIncident& incident, const std::string& node) {
  if (std::ranges::count(incident.nodes(), node) > 0) return;
  incident.set_node_count(incident.node_count() + 1);
  if (incident.nodes_size() < kMaxNodes) incident.add_nodes(node);
}

// In an incident that is full a diagnosis takes the place of a symptom: it says more, and one that
// is not kept would be new each time it comes. Not the first: an alert is known by it. nullptr: all
// others are diagnoses.
v1::StoredSymptom* LastOfNoRule(v1::StoredIncident& incident) {
  for (int i = incident.symptoms_size() - 1; i > 0; --i) {
    if (incident.symptoms(i).rule() == 0) return incident.mutable_symptoms(i);
  }
  return nullptr;
}

// Whether it was not there yet, and is now.
bool AddSymptom(v1::StoredIncident& incident, const v1::StoredSymptom& added) {
  const auto known = std::ranges::find_if(
      *incident.mutable_symptoms(),
      [&](const v1::StoredSymptom& symptom) { return SameSymptom(symptom, added); });
  if (known == incident.mutable_symptoms()->end()) {
    if (incident.symptoms_size() < kMaxSymptoms) {
      *incident.add_symptoms() = added;
      return true;
    }
    incident.set_symptoms_left_out(incident.symptoms_left_out() + 1);
    v1::StoredSymptom* const place = added.rule() == 0 ? nullptr : LastOfNoRule(incident);
    if (place != nullptr) *place = added;
    return place != nullptr;
  }
  known->set_count(known->count() + added.count());
  known->set_first_ns(std::min(known->first_ns(), added.first_ns()));
  known->set_last_ns(std::max(known->last_ns(), added.last_ns()));
  // Where several nodes have it, the end on one of them is not its end.
  const bool here = known->more_nodes().empty() && known->node() == added.node();
  known->set_ended_ns(here && added.more_nodes().empty() ? added.ended_ns() : 0);
  const auto add = [&](const std::string& node) {
    if (IsOn(*known, node)) return;
    known->set_node_count(std::max<uint64_t>(known->node_count(), 1) + 1);
    if (known->more_nodes_size() < kMaxMoreNodes) known->add_more_nodes(node);
  };
  add(added.node());
  for (const std::string& node : added.more_nodes()) add(node);
  return false;
}

void Explain(v1::StoredIncident& incident) {
  for (v1::StoredSymptom& symptom : *incident.mutable_symptoms()) {
    symptom.clear_explained_by();
    for (int i = 0; i < incident.symptoms_size(); ++i) {
      if (!Explains(incident.symptoms(i), symptom)) continue;
      symptom.set_explained_by(static_cast<uint32_t>(i) + 1);
      break;
    }
  }
}

// What a node as a whole does is this incident's where a diagnosis of a program explains it. On a
// node without the diagnosis it is something else. Of very many nodes not all are kept by name.
bool HasAnotherReason(const v1::StoredIncident& incident, const v1::StoredSymptom& symptom,
                      const std::string& node) {
  if (symptom.explained_by() == 0 || !symptom.program().empty()) return false;
  const v1::StoredSymptom& diagnosis =
      incident.symptoms(static_cast<int>(symptom.explained_by()) - 1);
  return !IsOn(diagnosis, node) && diagnosis.more_nodes_size() < kMaxMoreNodes;
}

}  // namespace

uint64_t NsOf(double seconds) {
  return static_cast<uint64_t>(std::llround(seconds * 1e3)) * 1'000'000;
}

bool SameSymptom(const v1::StoredSymptom& a, const v1::StoredSymptom& b) {
  return a.filter() == b.filter() && a.vital() == b.vital() && a.sub() == b.sub() &&
         a.program() == b.program();
}

std::string ProgramOfSubject(const std::string& subject) {
  const std::string name = subject.substr(0, subject.find(" ("));
  const size_t several = name.rfind(" x ");
  const std::string program = several == std::string::npos ? name : name.substr(0, several);
  const size_t slash = program.rfind('/');
  return slash == std::string::npos ? program : program.substr(slash + 1);
}

filter::NodeNames NodesOf(const v1::StoredIncident& incident, const v1::StoredSymptom& symptom) {
  filter::NodeNames nodes;
  if (symptom.node_count() <= static_cast<uint64_t>(symptom.more_nodes_size()) + 1) {
    nodes.insert(symptom.more_nodes().begin(), symptom.more_nodes().end());
    nodes.insert(symptom.node());
  } else if (incident.node_count() == static_cast<uint64_t>(incident.nodes_size())) {
    nodes.insert(incident.nodes().begin(), incident.nodes().end());
  }
  return nodes;
}

bool Explains(const v1::StoredSymptom& diagnosis, const v1::StoredSymptom& symptom) {
  if (diagnosis.rule() == 0 || symptom.rule() != 0 || !SharesNode(diagnosis, symptom)) return false;
  // Figures of a time when the fault was not there yet, or no more, have another reason.
  const bool over =
      diagnosis.ended_ns() > 0 && symptom.first_ns() > diagnosis.ended_ns() + kAfterwardsNs;
  if (over || symptom.last_ns() + kBeforehandNs < diagnosis.first_ns()) return false;
  const bool same_program = !symptom.program().empty() && symptom.program() == diagnosis.program();
  return same_program || Drives(diagnosis.rule(), symptom);
}

Fit FitOf(const v1::StoredIncident& incident, const v1::Anomaly& anomaly) {
  const v1::StoredSymptom found = SymptomOf(anomaly);
  Fit fit = Fit::kNone;
  for (const v1::StoredSymptom& symptom : incident.symptoms()) {
    if (SameSymptom(symptom, found) && !HasAnotherReason(incident, symptom, found.node())) {
      return Fit::kSameSymptom;
    }
    if (!IsOn(symptom, found.node())) continue;
    // A diagnosis may also come after the symptoms it explains, if no other does.
    const bool explains_it = symptom.explained_by() == 0 && Explains(found, symptom);
    if (Explains(symptom, found) || explains_it) fit = Fit::kExplained;
    if (HasInCommon(symptom, found)) fit = std::max(fit, Fit::kSameNode);
  }
  return fit;
}

bool AddAnomaly(v1::StoredIncident& incident, const v1::Anomaly& anomaly) {
  const v1::StoredSymptom found = SymptomOf(anomaly);
  incident.set_anomalies(incident.anomalies() + 1);
  incident.set_start_ns(incident.start_ns() == 0 ? found.first_ns()
                                                 : std::min(incident.start_ns(), found.first_ns()));
  incident.set_last_ns(std::max(incident.last_ns(), found.last_ns()));
  AddNode(incident, found.node());
  const bool diagnosis = found.rule() != 0;
  const auto severity = static_cast<uint64_t>(std::min(std::abs(anomaly.severity()), 1e12) * 1e3);
  if (incident.title().empty() || diagnosis > incident.title_is_diagnosis() ||
      (diagnosis == incident.title_is_diagnosis() && severity > incident.title_severity_milli())) {
    incident.set_title(anomaly.text());
    incident.set_title_is_diagnosis(diagnosis);
    incident.set_title_severity_milli(severity);
  }
  const bool added = AddSymptom(incident, found);
  Explain(incident);
  return added && diagnosis;
}

bool IsUnder(const v1::StoredIncident& incident, const v1::StoredIncident& other) {
  if (other.state() != v1::INCIDENT_STATE_OPEN || other.symptoms_left_out() > 0) return false;
  const bool touched = std::ranges::any_of(
      other.notes(), [](const v1::StoredIncidentNote& note) { return !note.who().empty(); });
  if (touched) return false;
  return std::ranges::all_of(other.symptoms(), [&](const v1::StoredSymptom& symptom) {
    // On one node only: what is elsewhere too has another reason.
    return symptom.more_nodes().empty() &&
           std::ranges::any_of(incident.symptoms(), [&](const v1::StoredSymptom& diagnosis) {
             return Explains(diagnosis, symptom);
           });
  });
}

void Merge(v1::StoredIncident& incident, const v1::StoredIncident& other) {
  incident.set_anomalies(incident.anomalies() + other.anomalies());
  incident.set_start_ns(std::min(incident.start_ns(), other.start_ns()));
  incident.set_last_ns(std::max(incident.last_ns(), other.last_ns()));
  for (const std::string& node : other.nodes()) AddNode(incident, node);
  for (const v1::StoredSymptom& symptom : other.symptoms()) AddSymptom(incident, symptom);
  Explain(incident);
}

}  // namespace telltale::incident
