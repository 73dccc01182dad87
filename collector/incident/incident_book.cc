#include "collector/incident/incident_book.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "collector/incident/incident_answer.h"
#include "collector/incident/incident_match.h"
#include "proto/codec.h"

namespace telltale::incident {
namespace {

constexpr char kHeadName[] = "incidents/head";
constexpr int kMaxNotes = 100;
constexpr int kMostNotes = 200;  // those of changes of state included, for which these are left
constexpr size_t kMaxNoteBytes = 1'000;
constexpr size_t kBatch = 256;
constexpr uint64_t kSettleNs = 600'000'000'000;
constexpr uint64_t kCountNs = 10'000'000'000;  // between counts of what goes on
constexpr uint32_t kDefaultList = 50, kMaxList = 1'000;
constexpr size_t kMaxNewsBytes = 1 << 20;
constexpr size_t kMaxHints = 4'096;  // the latest; of the others an incident's timeline is silent

void AddNote(v1::StoredIncident& incident, uint64_t now_ns, const std::string& who,
             const std::string& text) {
  v1::StoredIncidentNote& note = *incident.add_notes();
  note.set_time_ns(now_ns);
  note.set_who(who);
  note.set_text(text);
}

// Of many nodes one always has something unusual: that another has the same says nothing.
Fit FitOfHint(const v1::StoredIncident& incident, const v1::Anomaly& hint) {
  return std::ranges::count(incident.nodes(), hint.node()) == 0 ? Fit::kNone
                                                                : FitOf(incident, hint);
}

// In the log.
uint64_t NumberOf(const v1::Anomaly& anomaly) {
  uint64_t number = 0;
  (void)absl::SimpleAtoi(anomaly.cursor(), &number);
  return number;
}

bool IsResolved(const v1::StoredIncident& incident) {
  return incident.state() == v1::INCIDENT_STATE_RESOLVED;
}

std::string StillGoesOn(int symptoms, int all) {
  return absl::StrCat(symptoms, " of its ", all, all == 1 ? " symptom" : " symptoms",
                      symptoms == 1 ? " still goes on" : " still go on",
                      ": when more is told of that, it is open again");
}

std::string SlotName(uint64_t slot) { return absl::StrCat("incidents/", slot); }

}  // namespace

absl::StatusOr<std::unique_ptr<IncidentBook>> IncidentBook::Open(IncidentBookOptions options) {
  std::unique_ptr<IncidentBook> book(new IncidentBook(std::move(options)));
  if (auto status = book->Load(); !status.ok()) return status;
  if (auto status = book->WaitAgain(); !status.ok()) return status;
  return book;
}

absl::Status IncidentBook::Load() {
  for (uint64_t slot = 0; slot < options_.kept; ++slot) free_slots_.insert(slot);
  const auto bytes = options_.store->GetState(kHeadName);
  if (absl::IsNotFound(bytes.status())) return absl::OkStatus();
  constexpr char kWhy[] = "an incident could be given another's number";
  if (!bytes.ok()) return options_.store->StateNeeded(bytes.status(), kHeadName, kWhy);
  if (!head_.ParseFromString(*bytes)) {
    return options_.store->StateNeeded(absl::DataLossError("it is no head of incidents"), kHeadName,
                                       kWhy);
  }
  uint64_t lost = 0;
  std::string fault;
  // Places are taken from the lowest on: beyond as many as there were incidents none was used.
  for (uint64_t slot = 0; slot < std::min(options_.kept, head_.number() + 1); ++slot) {
    const auto value = options_.store->GetState(SlotName(slot));
    if (absl::IsNotFound(value.status())) continue;
    if (!value.ok() && !absl::IsDataLoss(value.status())) return value.status();
    v1::StoredIncident incident;
    if (!value.ok() || !incident.ParseFromString(*value)) {
      if (lost++ == 0) {
        fault =
            absl::StrCat(SlotName(slot), ": ",
                         value.ok() ? "it is no incident" : std::string(value.status().message()));
      }
      continue;
    }
    // There twice only if an older program wrote in between: the later of both is the one.
    if (const auto other = incidents_.find(incident.number()); other != incidents_.end()) {
      if (other->second.change() >= incident.change()) continue;
      by_change_.erase(other->second.change());
      free_slots_.insert(slots_.at(incident.number()));
    }
    slots_[incident.number()] = slot;
    free_slots_.erase(slot);
    if (incident.change() > 0) {
      by_change_[incident.change()] = incident.number();
    } else {
      changed_.insert(incident.number());  // of a store from before there were feeds
    }
    incidents_[incident.number()] = std::move(incident);
  }
  // Filters come to know again what they hold open.
  for (const auto& [number, incident] : incidents_) {
    if (IsResolved(incident) && !incident.resolved_by().empty()) watched_[number] = 0;
  }
  if (lost != 0) {
    options_.store->NoteLost(lost, "incidents",
                             "what of them goes on opens a new one, without its notes", fault);
  }
  return changed_.empty() ? absl::OkStatus() : Store();
}

// Those that were taken in belong to an incident that is there, which somebody may have resolved.
absl::Status IncidentBook::WaitAgain() {
  uint64_t number = head_.first_hint() == 0 ? head_.log_number() : head_.first_hint() - 1;
  while (number < head_.log_number()) {
    const auto told = options_.log->After(absl::StrCat(number), kBatch);
    if (absl::IsOutOfRange(told.status())) return absl::OkStatus();  // older than the log
    if (!told.ok()) return told.status();
    if (told->empty()) return absl::OkStatus();
    for (const v1::Anomaly& anomaly : *told) {
      number = NumberOf(anomaly);
      if (number > head_.log_number()) return absl::OkStatus();
      const auto has_it = [&](const auto& one) {
        return IsRecent(one.second, NsOf(anomaly.found_s())) &&
               FitOfHint(one.second, anomaly) != Fit::kNone;
      };
      if (IsHint(anomaly) && std::ranges::none_of(incidents_, has_it)) LetWait(anomaly);
    }
  }
  return absl::OkStatus();
}

absl::Status IncidentBook::Store() {
  std::vector<std::pair<std::string, std::string>> states;
  std::map<uint64_t, uint64_t> before, now;  // changes of those that are stored
  for (const uint64_t number : changed_) {
    const auto incident = incidents_.find(number);
    if (incident == incidents_.end()) continue;  // no longer kept
    before[number] = incident->second.change();
    head_.set_change(head_.change() + 1);
    incident->second.set_change(head_.change());
    now[head_.change()] = number;
    states.emplace_back(SlotName(slots_.at(number)), proto::Canonical(incident->second));
  }
  head_.set_first_hint(hints_.empty() ? 0 : NumberOf(hints_.front()));
  states.emplace_back(kHeadName, proto::Canonical(head_));
  const auto status = options_.store->PutStates(states, storage::Durability::kDurable);
  if (!status.ok()) {
    // Followers see no change that a crash could take back; its numbers are left out.
    for (const auto& [number, change] : before) incidents_[number].set_change(change);
    return status;
  }
  for (const auto& [number, change] : before) by_change_.erase(change);
  by_change_.merge(now);
  changed_.clear();
  if (!before.empty()) waiters_.WakeAll();
  return status;
}

absl::Status IncidentBook::Advance(uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const uint64_t before = head_.log_number();
  if (first_look_ns_ == 0) first_look_ns_ = now_ns;
  // A filter of filters.d must be loaded and shown its last hour before it can say what goes on.
  const bool settled = now_ns >= first_look_ns_ + kSettleNs;
  SeeWhatGoesOn(now_ns, settled);
  const uint64_t known_before = head_.number();
  if (auto status = TakeNews(now_ns); !status.ok()) return status;
  ForgetHints(now_ns);
  ReopenWhatHasNews(now_ns, settled);
  // A filter that just told of something knows whether it goes on.
  ResolveAndSilence(now_ns, settled || !options_.goes_on ? 0 : known_before);
  if (changed_.empty() && head_.log_number() == before) return absl::OkStatus();
  return Store();
}

absl::Status IncidentBook::TakeNews(uint64_t now_ns) {
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
    if (news->empty()) return absl::OkStatus();
    for (const v1::Anomaly& anomaly : *news) {
      Take(anomaly, now_ns);
      head_.set_log_number(NumberOf(anomaly));
    }
  }
}

void IncidentBook::SeeWhatGoesOn(uint64_t now_ns, bool settled) {
  for (auto& [number, incident] : incidents_) {
    if (IsResolved(incident)) continue;
    SeeWhetherItGoesOn(incident, now_ns);
    if (settled) SeeWhatIsOver(incident, now_ns);
  }
}

bool IncidentBook::GoesOn(const v1::StoredIncident& incident,
                          const v1::StoredSymptom& symptom) const {
  return options_.goes_on(symptom, NodesOf(incident, symptom));
}

// The log tells once of what is found, while it goes on. What seemed over may not be: its node was
// not heard for a while, its filter stopped and began again.
void IncidentBook::SeeWhatIsOver(v1::StoredIncident& incident, uint64_t now_ns) {
  if (!options_.goes_on) return;
  for (v1::StoredSymptom& symptom : *incident.mutable_symptoms()) {
    if (symptom.rule() == 0) continue;
    const bool goes_on = GoesOn(incident, symptom);
    if (goes_on == (symptom.ended_ns() == 0)) continue;
    symptom.set_ended_ns(goes_on ? 0 : now_ns);
    changed_.insert(incident.number());
  }
}

// Now and then all are counted; else one that goes on is enough, as an incident may have many.
void IncidentBook::SeeWhetherItGoesOn(const v1::StoredIncident& incident, uint64_t now_ns) {
  if (!options_.goes_on) return;
  const auto known = going_on_.find(incident.number());
  GoingOn seen = known == going_on_.end() ? GoingOn() : known->second;
  if (seen.seen_ns == now_ns) return;
  const bool counts = seen.counted_ns + kCountNs <= now_ns;
  bool any = false;
  int symptoms = 0;
  for (const v1::StoredSymptom& symptom : incident.symptoms()) {
    if (!GoesOn(incident, symptom)) continue;
    any = true;
    if (!counts) break;
    symptoms += options_.hints.contains(symptom.filter()) ? 0 : 1;
  }
  if (!any && known == going_on_.end()) return;
  if (any) seen.seen_ns = now_ns;
  if (counts) seen.counted_ns = now_ns;
  if (counts || !any) seen.symptoms = symptoms;
  going_on_[incident.number()] = seen;
}

void IncidentBook::ReopenWhatHasNews(uint64_t now_ns, bool settled) {
  if (!options_.held) return;
  for (auto it = watched_.begin(); it != watched_.end();) {
    auto& [number, held_ns] = *it;
    v1::StoredIncident& incident = incidents_.at(number);
    if (!settled) held_ns = now_ns;
    const v1::StoredSymptom* news = nullptr;
    for (const v1::StoredSymptom& symptom : incident.symptoms()) {
      if (options_.hints.contains(symptom.filter())) continue;
      const HeldOpen held = options_.held(symptom, NodesOf(incident, symptom));
      if (held.any) held_ns = now_ns;
      if (held.news_ns <= incident.resolved_ns()) continue;
      const auto nodes = NodesToldHere(incident, symptom);
      if (!nodes.has_value()) continue;
      if (options_.held(symptom, *nodes).news_ns <= incident.resolved_ns()) continue;
      news = &symptom;
      break;
    }
    if (news != nullptr) Reopen(incident, *news, now_ns);
    const bool done = news != nullptr || held_ns + options_.resolve_ns <= now_ns;
    it = done ? watched_.erase(it) : std::next(it);
  }
}

std::optional<filter::NodeNames> IncidentBook::NodesToldHere(
    const v1::StoredIncident& incident, const v1::StoredSymptom& symptom) const {
  filter::NodeNames nodes = NodesOf(incident, symptom);
  const bool any = nodes.empty();
  for (const auto& [number, other] : incidents_) {
    // Of several that were resolved by hand the one that was last is open again.
    const bool has_news = !IsResolved(other) || (watched_.contains(number) &&
                                                 other.resolved_ns() > incident.resolved_ns());
    if (number == incident.number() || !has_news) continue;
    for (const v1::StoredSymptom& its : other.symptoms()) {
      if (!SameSymptom(its, symptom)) continue;
      const filter::NodeNames its_nodes = NodesOf(other, its);
      if (any || its_nodes.empty()) return std::nullopt;
      for (const std::string_view node : its_nodes) nodes.erase(node);
      if (nodes.empty()) return std::nullopt;
    }
  }
  return nodes;
}

// Who resolved it did not know of this.
void IncidentBook::Reopen(v1::StoredIncident& incident, const v1::StoredSymptom& symptom,
                          uint64_t now_ns) {
  const std::string who = incident.resolved_by();
  incident.set_state(v1::INCIDENT_STATE_OPEN);
  incident.set_last_ns(now_ns);
  incident.clear_resolved_ns();
  incident.clear_resolved_by();
  incident.clear_acknowledged_by();
  incident.clear_acknowledged_ns();
  changed_.insert(incident.number());
  if (incident.notes_size() >= kMaxNotes) return;
  AddNote(incident, now_ns, "",
          absl::StrCat("open again, more was told since ", who,
                       " resolved it, of: ", proto::SanitizeText(symptom.text(), kMaxNoteBytes)));
}

void IncidentBook::ResolveAndSilence(uint64_t now_ns, uint64_t unknown_to) {
  for (auto& [number, incident] : incidents_) {
    if (IsResolved(incident)) continue;
    if (number > unknown_to && LastSeen(incident) + options_.resolve_ns <= now_ns) {
      Resolve(incident, now_ns, "resolved: nothing new for an hour");
      continue;
    }
    const bool silenced = options_.silences != nullptr &&
                          options_.silences->Silences(incident, options_.hints, now_ns);
    if (silenced == incident.silenced()) continue;
    incident.set_silenced(silenced);
    changed_.insert(number);
  }
}

void IncidentBook::Resolve(v1::StoredIncident& incident, uint64_t now_ns, const std::string& why) {
  incident.set_state(v1::INCIDENT_STATE_RESOLVED);
  incident.set_resolved_ns(now_ns);
  AddNote(incident, now_ns, "", why);
  going_on_.erase(incident.number());
  changed_.insert(incident.number());
}

// Something of it was found, or seen to go on.
uint64_t IncidentBook::LastSeen(const v1::StoredIncident& incident) const {
  const auto going_on = going_on_.find(incident.number());
  return std::max(incident.last_ns(), going_on == going_on_.end() ? 0 : going_on->second.seen_ns);
}

bool IncidentBook::IsRecent(const v1::StoredIncident& incident, uint64_t found_ns) const {
  return LastSeen(incident) + options_.together_ns >= found_ns &&
         found_ns + options_.together_ns >= incident.last_ns();
}

bool IncidentBook::IsHint(const v1::Anomaly& anomaly) const {
  return options_.hints.contains(anomaly.filter());
}

v1::StoredIncident* IncidentBook::Match(const v1::Anomaly& anomaly, uint64_t found_ns) {
  v1::StoredIncident* closest = nullptr;
  Fit best = Fit::kNone;
  for (auto& [number, incident] : incidents_) {
    if (IsResolved(incident) || !IsRecent(incident, found_ns)) continue;
    // Nobody knew of this node when it was said that this need not ring.
    const bool hushed = incident.silenced() || incident.state() != v1::INCIDENT_STATE_OPEN;
    const bool spreads = std::ranges::count(incident.nodes(), anomaly.node()) == 0;
    if (hushed && spreads && incident.last_ns() + options_.together_ns < found_ns) continue;
    const Fit fit = IsHint(anomaly) ? FitOfHint(incident, anomaly) : FitOf(incident, anomaly);
    if (fit <= best) continue;
    best = fit;
    closest = &incident;
  }
  return closest;
}

void IncidentBook::Take(const v1::Anomaly& anomaly, uint64_t now_ns) {
  const uint64_t found_ns = NsOf(anomaly.found_s());
  v1::StoredIncident* incident = Match(anomaly, found_ns);
  const bool begins = incident == nullptr;
  if (begins && IsHint(anomaly)) {
    LetWait(anomaly);
    return;
  }
  if (begins) {
    head_.set_number(head_.number() + 1);
    incident = &incidents_[head_.number()];
    incident->set_number(head_.number());
    incident->set_state(v1::INCIDENT_STATE_OPEN);
    incident->set_first_number(NumberOf(anomaly));
    if (incidents_.size() > options_.kept) Forget();
    slots_[head_.number()] = free_slots_.extract(free_slots_.begin()).value();
  }
  if (AddAnomaly(*incident, anomaly)) RingAgain(*incident, anomaly);
  changed_.insert(incident->number());
  if (begins || anomaly.rule() != 0) TakeHints(*incident);
  if (anomaly.rule() != 0) TakeIn(*incident, found_ns, now_ns);
  // Of a node that was cut off it is told hours later what was found then, and may go on.
  if (anomaly.open()) SeeWhetherItGoesOn(*incident, now_ns);
}

void IncidentBook::LetWait(const v1::Anomaly& hint) {
  hints_.push_back(hint);
  if (hints_.size() > kMaxHints) hints_.pop_front();
}

void IncidentBook::TakeHints(v1::StoredIncident& incident) {
  std::erase_if(hints_, [&](const v1::Anomaly& hint) {
    const bool belongs =
        IsRecent(incident, NsOf(hint.found_s())) && FitOfHint(incident, hint) != Fit::kNone;
    if (belongs) AddAnomaly(incident, hint);
    return belongs;
  });
}

// After the news: of a node that was cut off a hint and what it belongs to are told together, hours
// later.
void IncidentBook::ForgetHints(uint64_t now_ns) {
  std::erase_if(hints_, [&](const v1::Anomaly& hint) {
    return NsOf(hint.found_s()) + options_.together_ns < now_ns;
  });
}

// Who acknowledged it did not know of this diagnosis.
void IncidentBook::RingAgain(v1::StoredIncident& incident, const v1::Anomaly& anomaly) {
  if (incident.state() != v1::INCIDENT_STATE_ACKNOWLEDGED) return;
  incident.set_state(v1::INCIDENT_STATE_OPEN);
  const std::string who = incident.acknowledged_by();
  incident.clear_acknowledged_by();
  incident.clear_acknowledged_ns();
  if (incident.notes_size() >= kMaxNotes) return;
  AddNote(incident, NsOf(anomaly.found_s()), "",
          absl::StrCat("open again, new since ", who.empty() ? "it was " : absl::StrCat(who, " "),
                       "acknowledged: ", proto::SanitizeText(anomaly.text(), kMaxNoteBytes)));
}

// Those that turn out to be nothing but symptoms of what was diagnosed.
void IncidentBook::TakeIn(v1::StoredIncident& incident, uint64_t found_ns, uint64_t now_ns) {
  for (auto& [number, other] : incidents_) {
    if (number == incident.number() || IsResolved(other) || !IsRecent(other, found_ns)) continue;
    if (!IsUnder(incident, other)) continue;
    Merge(incident, other);
    other.set_merged_into(incident.number());
    Resolve(other, now_ns, absl::StrCat("explained by incident ", incident.number()));
  }
}

// Of those that are over the one that is so for longest; the oldest, if none is.
void IncidentBook::Forget() {
  const auto worth = [](const auto& entry) {
    const v1::StoredIncident& incident = entry.second;
    return std::pair(!IsResolved(incident), incident.resolved_ns());
  };
  const auto least = std::ranges::min_element(incidents_, {}, worth);
  by_change_.erase(least->second.change());
  head_.set_forgotten_change(std::max(head_.forgotten_change(), least->second.change()));
  going_on_.erase(least->first);
  watched_.erase(least->first);
  changed_.erase(least->first);
  free_slots_.insert(slots_.extract(least->first).mapped());
  incidents_.erase(least);
}

IncidentCounts IncidentBook::Counts() const {
  const std::lock_guard lock(mutex_);
  IncidentCounts counts;
  for (const auto& [number, incident] : incidents_) {
    if (IsResolved(incident)) continue;
    ++(incident.silenced()                           ? counts.silenced
       : incident.state() == v1::INCIDENT_STATE_OPEN ? counts.open
                                                     : counts.acknowledged);
  }
  return counts;
}

std::vector<v1::Incident> IncidentBook::Alerts(uint64_t since_ns) const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::Incident> alerts;
  for (const auto& [number, incident] : incidents_) {
    if (IsResolved(incident) && incident.resolved_ns() < since_ns) continue;
    alerts.push_back(ToAnswer(incident, Shown::kWhole));
  }
  return alerts;
}

std::string IncidentBook::NowCursor() const {
  const std::lock_guard lock(mutex_);
  return absl::StrCat(head_.change());
}

absl::StatusOr<std::vector<v1::IncidentNews>> IncidentBook::After(const std::string& cursor,
                                                                  size_t limit) const {
  uint64_t after = 0;
  const std::lock_guard lock(mutex_);
  if (!absl::SimpleAtoi(cursor, &after) || after > head_.change()) {
    return absl::InvalidArgumentError(
        absl::StrCat("follow incidents: cursor \"", proto::SanitizeText(cursor, 32),
                     "\" is not of this store, its last is ", head_.change(),
                     "; follow without a cursor to begin now"));
  }
  if (after != 0 && after < head_.forgotten_change()) {
    return absl::OutOfRangeError(absl::StrCat(
        "follow incidents: some that changed after cursor ", after, " are no longer among the ",
        options_.kept, " that are kept; go on with cursor ", head_.forgotten_change(),
        ", or with 0 for all that are"));
  }
  std::vector<v1::IncidentNews> news;
  size_t bytes = 0;
  for (auto it = by_change_.upper_bound(after); it != by_change_.end(); ++it) {
    if (news.size() == limit || bytes > kMaxNewsBytes) break;
    v1::IncidentNews& item = news.emplace_back();
    item.set_cursor(absl::StrCat(it->first));
    *item.mutable_incident() = ToAnswer(incidents_.at(it->second), Shown::kWhole);
    bytes += item.ByteSizeLong();
  }
  return news;
}

absl::Status IncidentBook::NoNumber(uint64_t number) const {
  return absl::NotFoundError(
      absl::StrCat("incidents: there is no number ", number, ", the last is ", head_.number()));
}

absl::StatusOr<v1::ListIncidentsAnswer> IncidentBook::List(
    const v1::ListIncidentsRequest& request) const {
  const std::lock_guard lock(mutex_);
  v1::ListIncidentsAnswer answer;
  answer.set_missed_anomalies(head_.missed());
  answer.set_hints(hints_.size());
  for (const auto& [number, incident] : incidents_) {
    if (incident.silenced() && !IsResolved(incident)) {
      answer.set_silenced(answer.silenced() + 1);
    } else if (incident.state() == v1::INCIDENT_STATE_OPEN) {
      answer.set_open(answer.open() + 1);
    } else if (!IsResolved(incident)) {
      answer.set_acknowledged(answer.acknowledged() + 1);
    }
  }
  if (request.number() != 0) {
    const auto found = incidents_.find(request.number());
    if (found == incidents_.end()) return NoNumber(request.number());
    *answer.add_incidents() = ToAnswer(found->second, Shown::kWhole);
    return answer;
  }
  const uint32_t limit = request.limit() == 0 ? kDefaultList : std::min(request.limit(), kMaxList);
  for (auto it = incidents_.rbegin(); it != incidents_.rend(); ++it) {
    const v1::StoredIncident& incident = it->second;
    if (IsResolved(incident) && !request.resolved()) continue;
    if (incident.silenced() && !IsResolved(incident) && !request.silenced()) continue;
    if (static_cast<uint32_t>(answer.incidents_size()) == limit) break;
    *answer.add_incidents() = ToAnswer(incident, Shown::kInList);
  }
  return answer;
}

absl::Status IncidentBook::CheckSilence(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  if (number == 0) return absl::OkStatus();
  const auto found = incidents_.find(number);
  if (found == incidents_.end()) return NoNumber(number);
  if (!IsResolved(found->second)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("silence: incident ", number,
                   " is resolved, so nobody hears of it; what comes anew has another number"));
}

absl::StatusOr<v1::Incident> IncidentBook::Change(const v1::ChangeIncidentRequest& request,
                                                  const std::string& who, uint64_t now_ns) {
  if (request.note().size() > kMaxNoteBytes) {
    return absl::InvalidArgumentError(absl::StrCat("incidents: note of ", request.note().size(),
                                                   " bytes, limit ", kMaxNoteBytes));
  }
  const std::lock_guard lock(mutex_);
  const auto found = incidents_.find(request.number());
  if (found == incidents_.end()) return NoNumber(request.number());
  v1::StoredIncident& incident = found->second;
  const int most = request.action() == v1::INCIDENT_ACTION_NOTE ? kMaxNotes : kMostNotes;
  if (incident.notes_size() >= most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("incidents: number ", request.number(), " has ", most, " notes, the most"));
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
  if (request.action() == v1::INCIDENT_ACTION_ACKNOWLEDGE) {
    incident.set_acknowledged_by(who);
    incident.set_acknowledged_ns(now_ns);
  } else if (request.action() == v1::INCIDENT_ACTION_REOPEN) {
    incident.clear_acknowledged_by();
    incident.clear_acknowledged_ns();
  }
  if (IsResolved(incident) && !IsResolved(before)) {
    incident.set_resolved_ns(now_ns);
    incident.set_resolved_by(who);
  } else if (IsResolved(before) && !IsResolved(incident)) {
    // What is open again has news: else the next look would resolve it.
    incident.set_last_ns(now_ns);
    incident.clear_resolved_ns();
    incident.clear_resolved_by();
    incident.clear_merged_into();
  }
  AddNote(incident, now_ns, who,
          absl::StrCat(done, done.empty() || text.empty() ? "" : ": ", text));
  const bool resolves = IsResolved(incident) && !IsResolved(before);
  const auto going_on = going_on_.find(request.number());
  if (resolves && going_on != going_on_.end() && going_on->second.symptoms > 0) {
    AddNote(incident, now_ns, "", StillGoesOn(going_on->second.symptoms, incident.symptoms_size()));
  }
  changed_.insert(request.number());
  if (auto status = Store(); !status.ok()) {
    incident = before;
    return status;
  }
  if (resolves) {
    going_on_.erase(request.number());
    watched_[request.number()] = now_ns;
  } else if (!IsResolved(incident)) {
    watched_.erase(request.number());
  }
  return ToAnswer(incident, Shown::kWhole);
}

}  // namespace telltale::incident
