#include "collector/incident/silence_book.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/incident/incident_match.h"
#include "collector/random_id.h"
#include "proto/codec.h"
#include "sketch/time_units.h"

namespace telltale::incident {
namespace {

constexpr char kName[] = "incidents/silences";
constexpr size_t kMaxPatternBytes = 128, kMaxReasonBytes = 300;
constexpr uint64_t kListedNs = 7 * 86'400 * kNsPerS;  // after they are over
constexpr double kMostAheadS = 366.0 * 86'400;

bool InForce(const v1::StoredSilence& silence, uint64_t now_ns) {
  return silence.ended_ns() == 0 && now_ns < silence.until_ns();
}

bool Fits(const std::string& pattern, const std::string& text) {
  return pattern.empty() || fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// "5" is rule 5; all else is a filter's name.
bool FitsRule(const std::string& pattern, const v1::StoredSymptom& symptom) {
  uint32_t rule = 0;
  if (absl::SimpleAtoi(pattern, &rule)) return rule == symptom.rule();
  return Fits(pattern, symptom.filter());
}

v1::Silence ToAnswer(const v1::StoredSilence& stored, uint64_t now_ns) {
  const auto seconds = [](uint64_t ns) { return static_cast<double>(ns) / 1e9; };
  v1::Silence silence;
  silence.set_id(stored.id());
  silence.set_node(stored.node());
  silence.set_rule(stored.rule());
  silence.set_process(stored.process());
  silence.set_until_s(seconds(stored.until_ns()));
  silence.set_reason(stored.reason());
  silence.set_by(stored.by());
  silence.set_made_s(seconds(stored.made_ns()));
  silence.set_ended_s(seconds(stored.ended_ns()));
  silence.set_ended_by(stored.ended_by());
  silence.set_in_force(InForce(stored, now_ns));
  silence.set_incident(stored.incident());
  return silence;
}

absl::Status Check(const v1::AddSilenceRequest& request, uint64_t now_ns) {
  for (const auto& [what, pattern] : {std::pair("node", request.node()),
                                      {"rule", request.rule()},
                                      {"process", request.process()}}) {
    if (pattern.size() > kMaxPatternBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "silence: ", what, " pattern of ", pattern.size(), " bytes, limit ", kMaxPatternBytes));
    }
    if (pattern != proto::SanitizeText(pattern, kMaxPatternBytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("silence: ", what, " pattern is not printable text"));
    }
  }
  const bool patterns =
      !request.node().empty() || !request.rule().empty() || !request.process().empty();
  if (request.incident() != 0 && patterns) {
    return absl::InvalidArgumentError(
        "silence: is of one incident, whatever it takes in, or of patterns, not both");
  }
  if (request.incident() == 0 && !patterns) {
    return absl::InvalidArgumentError(
        "silence: name a node, a rule or a process (* is any, if all is really meant), or an "
        "incident");
  }
  if (request.reason().empty() || request.reason().size() > kMaxReasonBytes) {
    return absl::InvalidArgumentError(absl::StrCat("silence: a reason of ", request.reason().size(),
                                                   " bytes must be 1 to ", kMaxReasonBytes));
  }
  const double ahead_s = request.until_s() - static_cast<double>(now_ns) / 1e9;
  if (!std::isfinite(ahead_s) || ahead_s <= 0 || ahead_s > kMostAheadS) {
    return absl::InvalidArgumentError(
        "silence: its end must lie ahead, at most a year from now; say until when");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SilenceBook>> SilenceBook::Open(storage::DerivedStore* store) {
  std::unique_ptr<SilenceBook> book(new SilenceBook(store));
  const auto bytes = store->GetState(kName);
  if (absl::IsNotFound(bytes.status())) return book;
  if (!bytes.ok() && !absl::IsDataLoss(bytes.status())) return bytes.status();
  if (!bytes.ok() || !book->silences_.ParseFromString(*bytes)) {
    book->silences_.Clear();
    store->NoteLost(1, "list of silences",
                    "what they kept quiet rings again, make them anew: telltale silence",
                    bytes.ok() ? "it is no list" : std::string(bytes.status().message()));
  }
  return book;
}

absl::Status SilenceBook::Store(v1::StoredSilences silences) {
  const auto status =
      store_->PutState(kName, proto::Canonical(silences), storage::Durability::kDurable);
  if (status.ok()) silences_ = std::move(silences);
  return status;
}

absl::StatusOr<v1::Silence> SilenceBook::Add(const v1::AddSilenceRequest& request,
                                             const std::string& who, uint64_t now_ns) {
  if (auto status = Check(request, now_ns); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  v1::StoredSilences silences;
  for (const v1::StoredSilence& known : silences_.silences()) {
    const uint64_t over_ns = known.ended_ns() != 0 ? known.ended_ns() : known.until_ns();
    if (over_ns + kListedNs > now_ns) *silences.add_silences() = known;
  }
  if (silences.silences_size() >= kMaxSilences) {
    return absl::ResourceExhaustedError(
        absl::StrCat("silence: there are ", kMaxSilences,
                     " of this week, the most; one with wider patterns does for many"));
  }
  const auto id = collector::NewId("silence", [&](const std::string& drawn) {
    return std::ranges::count(silences.silences(), drawn, &v1::StoredSilence::id) > 0;
  });
  if (!id.ok()) return id.status();
  v1::StoredSilence& added = *silences.add_silences();
  added.set_id(*id);
  added.set_node(request.node());
  added.set_rule(request.rule());
  added.set_process(request.process());
  added.set_incident(request.incident());
  added.set_until_ns(static_cast<uint64_t>(std::llround(request.until_s())) * kNsPerS);
  added.set_reason(proto::SanitizeText(request.reason(), kMaxReasonBytes));
  added.set_by(who);
  added.set_made_ns(now_ns);
  v1::Silence shown = ToAnswer(added, now_ns);
  if (auto status = Store(std::move(silences)); !status.ok()) return status;
  return shown;
}

absl::StatusOr<v1::Silence> SilenceBook::End(const std::string& id, const std::string& who,
                                             uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  v1::StoredSilences silences = silences_;
  const auto found = std::ranges::find(*silences.mutable_silences(), id, &v1::StoredSilence::id);
  if (found == silences.mutable_silences()->end() || !InForce(*found, now_ns)) {
    return absl::NotFoundError(absl::StrCat("silence: none with the id ",
                                            proto::SanitizeText(id, 64),
                                            " is in force; telltale silence lists them"));
  }
  found->set_ended_ns(now_ns);
  found->set_ended_by(who);
  v1::Silence shown = ToAnswer(*found, now_ns);
  if (auto status = Store(std::move(silences)); !status.ok()) return status;
  return shown;
}

v1::ListSilencesAnswer SilenceBook::List(bool ended, uint64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  v1::ListSilencesAnswer answer;
  for (int i = silences_.silences_size() - 1; i >= 0; --i) {
    v1::Silence silence = ToAnswer(silences_.silences(i), now_ns);
    if (silence.in_force() || ended) *answer.add_silences() = std::move(silence);
  }
  return answer;
}

bool SilenceBook::Silences(const v1::StoredIncident& incident, const std::set<std::string>& hints,
                           uint64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  const auto is_hint = [&hints](const v1::StoredSymptom& symptom) {
    return hints.contains(symptom.filter());
  };
  const auto node_patterns = [&](const v1::StoredSymptom& symptom) {
    std::set<std::string> patterns;
    for (const v1::StoredSilence& silence : silences_.silences()) {
      if (InForce(silence, now_ns) && silence.incident() == 0 &&
          FitsRule(silence.rule(), symptom) && Fits(silence.process(), symptom.program())) {
        patterns.insert(silence.node());
      }
    }
    return patterns;
  };
  if (silences_.silences().empty() || incident.symptoms().empty()) return false;
  if (std::ranges::any_of(silences_.silences(), [&](const v1::StoredSilence& silence) {
        return InForce(silence, now_ns) && silence.incident() == incident.number();
      })) {
    return true;
  }
  const bool has_more = !std::ranges::all_of(incident.symptoms(), is_hint);
  return std::ranges::all_of(incident.symptoms(), [&](const v1::StoredSymptom& symptom) {
    // What would have begun no incident does not make one ring.
    if (symptom.explained_by() != 0 || (has_more && is_hint(symptom))) return true;
    const std::set<std::string> patterns = node_patterns(symptom);
    if (patterns.empty()) return false;
    const auto silenced = [&](std::string_view name) {
      return std::ranges::any_of(patterns, [node = std::string(name)](const std::string& pattern) {
        return Fits(pattern, node);
      });
    };
    filter::NodeNames nodes = NodesOf(incident, symptom);
    // Nodes that are not known are only under a silence of all nodes, as "" is a name no pattern
    // with a letter fits.
    if (nodes.empty()) nodes.insert("");
    return std::ranges::all_of(nodes, silenced);
  });
}

std::string Described(const v1::Silence& silence) {
  const auto part = [](const char* what, const std::string& pattern) {
    return pattern.empty() ? "" : absl::StrCat(" ", what, " ", pattern);
  };
  return absl::StrCat(
      silence.id(), silence.incident() == 0 ? "" : absl::StrCat(" incident ", silence.incident()),
      part("node", silence.node()), part("rule", silence.rule()),
      part("process", silence.process()), " until ",
      absl::FormatTime(absl::RFC3339_sec,
                       absl::FromUnixSeconds(static_cast<int64_t>(silence.until_s())),
                       absl::UTCTimeZone()),
      ": ", silence.reason());
}

}  // namespace telltale::incident
