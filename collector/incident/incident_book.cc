#include "collector/incident/incident_book.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/codec.h"

namespace telltale::incident {
namespace {

constexpr char kHeadName[] = "incidents/head";
constexpr int kMaxNodes = 64, kMaxSymptoms = 64, kMaxNotes = 100;
constexpr size_t kMaxNoteBytes = 1'000;
constexpr size_t kBatch = 256;
constexpr uint32_t kDefaultList = 50, kMaxList = 1'000;

double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }
uint64_t Ns(double seconds) {
  return static_cast<uint64_t>(std::llround(seconds * 1e3)) * 1'000'000;
}

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

v1::Incident ToAnswer(const v1::StoredIncident& stored) {
  v1::Incident answer;
  answer.set_number(stored.number());
  answer.set_state(StateText(stored.state()));
  answer.set_title(stored.title());
  answer.set_start_s(Seconds(stored.start_ns()));
  answer.set_last_s(Seconds(stored.last_ns()));
  answer.set_anomalies(stored.anomalies());
  *answer.mutable_nodes() = stored.nodes();
  answer.set_node_count(stored.node_count());
  answer.set_symptoms_left_out(stored.symptoms_left_out());
  for (const v1::StoredSymptom& from : stored.symptoms()) {
    v1::IncidentSymptom& to = *answer.add_symptoms();
    to.set_node(from.node());
    to.set_filter(from.filter());
    to.set_vital(from.vital());
    to.set_sub(from.sub());
    to.set_program(from.program());
    to.set_first_s(Seconds(from.first_ns()));
    to.set_count(from.count());
    to.set_text(from.text());
  }
  for (const v1::StoredIncidentNote& from : stored.notes()) {
    v1::IncidentNote& to = *answer.add_notes();
    to.set_time_s(Seconds(from.time_ns()));
    to.set_who(from.who());
    to.set_text(from.text());
  }
  return answer;
}

void AddNote(v1::StoredIncident& incident, uint64_t now_ns, const std::string& who,
             const std::string& text) {
  v1::StoredIncidentNote& note = *incident.add_notes();
  note.set_time_ns(now_ns);
  note.set_who(who);
  note.set_text(text);
}

}  // namespace

std::string ProgramOfSubject(const std::string& subject) {
  const std::string name = subject.substr(0, subject.find(" ("));
  const size_t several = name.rfind(" x ");
  const std::string program = several == std::string::npos ? name : name.substr(0, several);
  const size_t slash = program.rfind('/');
  return slash == std::string::npos ? program : program.substr(slash + 1);
}

absl::StatusOr<std::unique_ptr<IncidentBook>> IncidentBook::Open(IncidentBookOptions options) {
  std::unique_ptr<IncidentBook> book(new IncidentBook(options));
  if (auto status = book->Load(); !status.ok()) return status;
  return book;
}

absl::Status IncidentBook::Load() {
  const auto bytes = options_.store->GetState(kHeadName);
  if (absl::IsNotFound(bytes.status())) return absl::OkStatus();
  if (!bytes.ok()) return bytes.status();
  if (!head_.ParseFromString(*bytes)) return absl::DataLossError("incidents: head is damaged");
  const uint64_t first = head_.number() - std::min(head_.number(), options_.kept) + 1;
  for (uint64_t number = first; number <= head_.number(); ++number) {
    const auto value = options_.store->GetState(SlotName(number));
    if (absl::IsNotFound(value.status())) continue;
    if (!value.ok()) return value.status();
    v1::StoredIncident incident;
    if (!incident.ParseFromString(*value)) {
      return absl::DataLossError(absl::StrCat("incidents: number ", number, " is damaged"));
    }
    incidents_[incident.number()] = std::move(incident);
  }
  return absl::OkStatus();
}

absl::Status IncidentBook::Store() {
  std::vector<std::pair<std::string, std::string>> states;
  for (const uint64_t number : changed_) {
    const auto incident = incidents_.find(number);
    if (incident == incidents_.end()) continue;  // no longer kept
    states.emplace_back(SlotName(number), proto::Canonical(incident->second));
  }
  states.emplace_back(kHeadName, proto::Canonical(head_));
  const auto status = options_.store->PutStates(states, storage::Durability::kDurable);
  if (status.ok()) changed_.clear();
  return status;
}

std::string IncidentBook::SlotName(uint64_t number) const {
  return absl::StrCat("incidents/", number % options_.kept);
}

absl::Status IncidentBook::Advance(uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const uint64_t before = head_.log_number();
  while (true) {
    auto news = options_.log->After(absl::StrCat(head_.log_number()), kBatch);
    if (absl::IsOutOfRange(news.status())) {
      uint64_t newest = 0;
      (void)absl::SimpleAtoi(options_.log->NowCursor(), &newest);
      head_.set_missed(head_.missed() + newest - head_.log_number());
      head_.set_log_number(newest);
      continue;
    }
    if (!news.ok()) return news.status();
    if (news->empty()) break;
    for (const v1::Anomaly& anomaly : *news) {
      uint64_t number = 0;
      if (!absl::SimpleAtoi(anomaly.cursor(), &number)) continue;
      Take(anomaly);
      head_.set_log_number(number);
    }
  }
  for (auto& [number, incident] : incidents_) {
    if (incident.state() == v1::INCIDENT_STATE_RESOLVED) continue;
    if (incident.last_ns() + options_.resolve_ns > now_ns) continue;
    incident.set_state(v1::INCIDENT_STATE_RESOLVED);
    AddNote(incident, now_ns, "", "resolved: nothing new for an hour");
    changed_.insert(number);
  }
  if (changed_.empty() && head_.log_number() == before) return absl::OkStatus();
  return Store();
}

v1::StoredIncident* IncidentBook::Match(const v1::Anomaly& anomaly, uint64_t found_ns) {
  const std::string program = ProgramOfSubject(anomaly.subject());
  for (auto& [number, incident] : incidents_) {
    if (incident.state() == v1::INCIDENT_STATE_RESOLVED) continue;
    const uint64_t apart = found_ns > incident.last_ns() ? found_ns - incident.last_ns()
                                                         : incident.last_ns() - found_ns;
    if (apart > options_.together_ns) continue;
    for (const v1::StoredSymptom& symptom : incident.symptoms()) {
      const bool same_program = symptom.program() == program;
      const bool same_vital = symptom.vital() == anomaly.vital();
      if (same_program && same_vital && symptom.filter() == anomaly.filter() &&
          symptom.sub() == anomaly.sub()) {
        return &incident;
      }
      if (symptom.node() != anomaly.node()) continue;
      if (same_program || same_vital || program.empty() || symptom.program().empty()) {
        return &incident;
      }
    }
  }
  return nullptr;
}

void IncidentBook::Take(const v1::Anomaly& anomaly) {
  const uint64_t found_ns = Ns(anomaly.found_s());
  uint64_t number = 0;
  (void)absl::SimpleAtoi(anomaly.cursor(), &number);
  v1::StoredIncident* incident = Match(anomaly, found_ns);
  if (incident == nullptr) {
    head_.set_number(head_.number() + 1);
    incident = &incidents_[head_.number()];
    incident->set_number(head_.number());
    incident->set_state(v1::INCIDENT_STATE_OPEN);
    incident->set_start_ns(Ns(anomaly.start_s()));
    incident->set_first_number(number);
    if (incidents_.size() > options_.kept) incidents_.erase(incidents_.begin());
  }
  changed_.insert(incident->number());
  incident->set_anomalies(incident->anomalies() + 1);
  incident->set_start_ns(std::min(incident->start_ns(), Ns(anomaly.start_s())));
  incident->set_last_ns(std::max(incident->last_ns(), found_ns));
  if (std::ranges::count(incident->nodes(), anomaly.node()) == 0) {
    incident->set_node_count(incident->node_count() + 1);
    if (incident->nodes_size() < kMaxNodes) incident->add_nodes(anomaly.node());
  }
  const bool diagnosis = anomaly.rule() != 0;
  const auto severity = static_cast<uint64_t>(std::min(std::abs(anomaly.severity()), 1e12) * 1e3);
  if (incident->title().empty() || diagnosis > incident->title_is_diagnosis() ||
      (diagnosis == incident->title_is_diagnosis() &&
       severity > incident->title_severity_milli())) {
    incident->set_title(anomaly.text());
    incident->set_title_is_diagnosis(diagnosis);
    incident->set_title_severity_milli(severity);
  }
  const std::string program = ProgramOfSubject(anomaly.subject());
  for (v1::StoredSymptom& symptom : *incident->mutable_symptoms()) {
    if (symptom.node() != anomaly.node() || symptom.filter() != anomaly.filter() ||
        symptom.vital() != anomaly.vital() || symptom.sub() != anomaly.sub() ||
        symptom.program() != program) {
      continue;
    }
    symptom.set_count(symptom.count() + 1);
    return;
  }
  if (incident->symptoms_size() == kMaxSymptoms) {
    incident->set_symptoms_left_out(incident->symptoms_left_out() + 1);
    return;
  }
  v1::StoredSymptom& symptom = *incident->add_symptoms();
  symptom.set_node(anomaly.node());
  symptom.set_filter(anomaly.filter());
  symptom.set_vital(anomaly.vital());
  symptom.set_sub(anomaly.sub());
  symptom.set_program(program);
  symptom.set_first_ns(Ns(anomaly.start_s()));
  symptom.set_count(1);
  symptom.set_text(anomaly.text());
}

absl::StatusOr<v1::ListIncidentsAnswer> IncidentBook::List(
    const v1::ListIncidentsRequest& request) const {
  const std::lock_guard lock(mutex_);
  v1::ListIncidentsAnswer answer;
  answer.set_missed_anomalies(head_.missed());
  for (const auto& [number, incident] : incidents_) {
    if (incident.state() == v1::INCIDENT_STATE_OPEN) answer.set_open(answer.open() + 1);
  }
  if (request.number() != 0) {
    const auto found = incidents_.find(request.number());
    if (found == incidents_.end()) {
      return absl::NotFoundError(absl::StrCat("incidents: there is no number ", request.number(),
                                              ", the last is ", head_.number()));
    }
    *answer.add_incidents() = ToAnswer(found->second);
    return answer;
  }
  const uint32_t limit = request.limit() == 0 ? kDefaultList : std::min(request.limit(), kMaxList);
  for (auto it = incidents_.rbegin(); it != incidents_.rend(); ++it) {
    if (it->second.state() == v1::INCIDENT_STATE_RESOLVED && !request.resolved()) continue;
    if (static_cast<uint32_t>(answer.incidents_size()) == limit) break;
    *answer.add_incidents() = ToAnswer(it->second);
  }
  return answer;
}

absl::StatusOr<v1::Incident> IncidentBook::Change(const v1::ChangeIncidentRequest& request,
                                                  const std::string& who, uint64_t now_ns) {
  if (request.note().size() > kMaxNoteBytes) {
    return absl::InvalidArgumentError(absl::StrCat("incidents: note of ", request.note().size(),
                                                   " bytes, limit ", kMaxNoteBytes));
  }
  const std::lock_guard lock(mutex_);
  const auto found = incidents_.find(request.number());
  if (found == incidents_.end()) {
    return absl::NotFoundError(absl::StrCat("incidents: there is no number ", request.number(),
                                            ", the last is ", head_.number()));
  }
  v1::StoredIncident& incident = found->second;
  if (incident.notes_size() >= kMaxNotes) {
    return absl::ResourceExhaustedError(absl::StrCat("incidents: number ", request.number(),
                                                     " has ", kMaxNotes, " notes, the most"));
  }
  v1::IncidentState state = incident.state();
  std::string done;
  switch (request.action()) {
    case v1::INCIDENT_ACTION_NOTE:
      if (request.note().empty()) {
        return absl::InvalidArgumentError("incidents: a note without a text");
      }
      break;
    case v1::INCIDENT_ACTION_ACKNOWLEDGE:
      state = v1::INCIDENT_STATE_ACKNOWLEDGED;
      break;
    case v1::INCIDENT_ACTION_RESOLVE:
      state = v1::INCIDENT_STATE_RESOLVED;
      break;
    case v1::INCIDENT_ACTION_REOPEN:
      state = v1::INCIDENT_STATE_OPEN;
      break;
    default:
      return absl::InvalidArgumentError(
          "incidents: the action must be note, acknowledge, resolve or reopen");
  }
  if (request.action() != v1::INCIDENT_ACTION_NOTE) {
    if (state == incident.state()) {
      return absl::FailedPreconditionError(absl::StrCat("incidents: number ", request.number(),
                                                        " is ", StateText(state), " already"));
    }
    done = request.action() == v1::INCIDENT_ACTION_REOPEN ? "reopened" : StateText(state);
  }
  const std::string text = proto::SanitizeText(request.note(), kMaxNoteBytes);
  const v1::StoredIncident before = incident;
  incident.set_state(state);
  // What is open again has news: else the next look would resolve it.
  if (request.action() == v1::INCIDENT_ACTION_REOPEN) incident.set_last_ns(now_ns);
  AddNote(incident, now_ns, who,
          absl::StrCat(done, done.empty() || text.empty() ? "" : ": ", text));
  changed_.insert(request.number());
  if (auto status = Store(); !status.ok()) {
    incident = before;
    return status;
  }
  return ToAnswer(incident);
}

}  // namespace telltale::incident
