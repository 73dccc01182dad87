#include "collector/ingest/clone_decision.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "proto/codec.h"

namespace telltale::ingest {
namespace {

constexpr int kMaxMachines = 4;
constexpr int kMaxDecisions = 8;
constexpr size_t kFewestDigits = 4;
constexpr size_t kShownDigits = 8;
constexpr size_t kTextBytes = 64;
constexpr size_t kTypedBytes = 80;

std::string Hex(const std::string& bytes) { return std::string(absl::BytesToHexString(bytes)); }

// Its machines that can be told apart.
std::vector<std::string> FingerprintsOf(const v1::KnownIncarnation& known) {
  std::vector<std::string> found;
  for (const v1::SeenMachine& machine : known.machines()) {
    if (!machine.fingerprint().empty()) found.push_back(machine.fingerprint());
  }
  return found;
}

struct Choice {
  v1::KnownIncarnation* known = nullptr;
  std::string machine;  // fingerprint, if one was chosen
};

absl::StatusOr<Choice> FindChoice(const KeepOrder& order, storage::NodeRecord& record) {
  std::string typed = order.agent;
  std::transform(typed.begin(), typed.end(), typed.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const size_t slash = typed.find('/');
  const std::string id = typed.substr(0, slash);
  const std::string machine = slash == std::string::npos ? "" : typed.substr(slash + 1);
  const std::string shown = proto::SanitizeText(order.agent, kTypedBytes);
  if (id.size() < kFewestDigits || (slash != std::string::npos && machine.size() < kFewestDigits)) {
    return absl::InvalidArgumentError(
        absl::StrCat("keep: agent \"", shown, "\": at least ", kFewestDigits,
                     " digits are needed; telltale nodes --node ", record.name(), " shows them"));
  }
  std::vector<v1::KnownIncarnation*> fitting;
  std::vector<std::string> known_ids;
  for (v1::KnownIncarnation& known : *record.mutable_incarnations()) {
    if (absl::StartsWith(Hex(known.id()), id)) fitting.push_back(&known);
    known_ids.push_back(ShortId(known.id()));
  }
  if (fitting.empty()) {
    return absl::NotFoundError(absl::StrCat("keep: node ", record.name(), " has no agent \"", shown,
                                            "\"; known are ", absl::StrJoin(known_ids, ", ")));
  }
  if (fitting.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("keep: \"", shown, "\" fits ", fitting.size(),
                                                   " agents of node ", record.name(),
                                                   "; type more of its digits"));
  }
  Choice choice = {fitting.front(), ""};
  std::vector<std::string> names, chosen;
  for (const std::string& fingerprint : FingerprintsOf(*choice.known)) {
    names.push_back(absl::StrCat(ShortId(choice.known->id()), "/", ShortId(fingerprint)));
    if (!machine.empty() && absl::StartsWith(Hex(fingerprint), machine)) {
      chosen.push_back(fingerprint);
    }
  }
  if (machine.empty()) {
    // Two machines in a conflict over one spool directory; a decided one needs no repeating.
    const bool copied =
        names.size() > 1 && (choice.known->kept_machine().empty() &&
                             choice.known->status() == v1::INCARNATION_STATUS_APART);
    if (copied) {
      return absl::InvalidArgumentError(absl::StrCat(
          "keep: agent ", ShortId(choice.known->id()), " of node ", record.name(), " speaks from ",
          names.size(), " machines (a copied disk); say which: ", absl::StrJoin(names, ", ")));
    }
    choice.machine = choice.known->kept_machine();
    return choice;
  }
  if (chosen.size() != 1) {
    const std::string text =
        absl::StrCat("keep: \"", shown, "\" fits ", chosen.size(), " machines of node ",
                     record.name(), "; known are ", absl::StrJoin(names, ", "));
    if (chosen.empty()) return absl::NotFoundError(text);
    return absl::InvalidArgumentError(text);
  }
  choice.machine = chosen.front();
  return choice;
}

const v1::CloneDecision* LastDecision(const storage::NodeRecord& record) {
  return record.decisions().empty() ? nullptr : &record.decisions(record.decisions_size() - 1);
}

void Show(const v1::CloneDecision& decision, v1::NodeDecision& shown) {
  shown.set_kept(Hex(decision.kept()));
  shown.set_machine(Hex(decision.machine()));
  for (const std::string& refused : decision.refused()) shown.add_refused(Hex(refused));
  shown.set_by(decision.by());
  shown.set_time_s(static_cast<double>(decision.time_ns()) * 1e-9);
}

}  // namespace

std::string ShortId(const std::string& bytes) { return Hex(bytes).substr(0, kShownDigits); }

std::string KeepCommand(const std::string& node, const std::vector<storage::Incarnation>& choices) {
  std::string agent = "AGENT";
  if (choices.size() == 1) {
    agent = ShortId(std::string(choices.front().begin(), choices.front().end()));
  }
  return absl::StrCat("telltale nodes --node ", node, " --keep ", agent);
}

void NoteMachine(v1::KnownIncarnation& known, const v1::NodeInfo& info, const std::string& address,
                 uint64_t now_ns) {
  auto* machines = known.mutable_machines();
  auto seen = std::find_if(machines->begin(), machines->end(), [&](const v1::SeenMachine& one) {
    return one.fingerprint() == info.machine_fingerprint();
  });
  if (seen == machines->end()) {
    if (machines->size() >= kMaxMachines) {
      machines->erase(std::min_element(machines->begin(), machines->end(),
                                       [](const v1::SeenMachine& a, const v1::SeenMachine& b) {
                                         return a.last_seen_ns() < b.last_seen_ns();
                                       }));
    }
    v1::SeenMachine& fresh = *known.add_machines();
    fresh.set_fingerprint(info.machine_fingerprint());
    fresh.set_first_seen_ns(now_ns);
    seen = machines->end() - 1;
  }
  seen->set_address(proto::SanitizeText(address, kTextBytes));
  seen->set_kernel_release(proto::SanitizeText(info.kernel_release(), kTextBytes));
  seen->set_boot_id(info.boot_id());
  seen->set_agent_version(proto::SanitizeText(info.agent_version(), kTextBytes));
  seen->set_last_seen_ns(now_ns);
}

absl::StatusOr<v1::KeepAnswer> Decide(const KeepOrder& order, uint64_t now_ns,
                                      storage::NodeRecord& record) {
  const absl::StatusOr<Choice> choice = FindChoice(order, record);
  if (!choice.ok()) return choice.status();
  v1::KnownIncarnation& kept = *choice->known;
  const bool undecided = record.state() == v1::NODE_STATE_CLONE_CONFLICT ||
                         std::any_of(record.incarnations().begin(), record.incarnations().end(),
                                     [](const v1::KnownIncarnation& known) {
                                       return known.status() == v1::INCARNATION_STATUS_APART;
                                     });
  v1::KeepAnswer answer;
  answer.set_kept(Hex(kept.id()));
  if (!undecided && kept.status() == v1::INCARNATION_STATUS_COUNTED &&
      kept.kept_machine() == choice->machine) {
    if (kept.kept() && LastDecision(record) != nullptr) {
      Show(*LastDecision(record), *answer.mutable_decision());
    }
    return answer;
  }

  v1::CloneDecision decision;
  decision.set_kept(kept.id());
  decision.set_machine(choice->machine);
  decision.set_by(proto::SanitizeText(order.by, kTextBytes));
  decision.set_time_ns(now_ns);
  for (v1::KnownIncarnation& other : *record.mutable_incarnations()) {
    // Whom an earlier decision kept is refused by this one; who was never in question stays.
    const bool in_question = other.status() == v1::INCARNATION_STATUS_APART || other.kept();
    if (other.id() == kept.id() || !in_question) continue;
    other.set_status(v1::INCARNATION_STATUS_REFUSED);
    other.set_kept(false);
    other.clear_kept_machine();
    other.set_adopting(false);
    decision.add_refused(other.id());
  }
  // Where two machines sent under one id nobody can say which of them sent what.
  answer.set_undivided(!choice->machine.empty());
  kept.set_adopting(choice->machine.empty() &&
                    (kept.status() != v1::INCARNATION_STATUS_COUNTED || kept.epochs_apart() > 0));
  kept.set_status(v1::INCARNATION_STATUS_COUNTED);
  kept.set_kept(true);
  kept.set_kept_machine(choice->machine);
  record.set_state(v1::NODE_STATE_SILENT);  // until its stream, or its next one, says otherwise
  record.set_state_since_ns(kept.last_seen_ns());

  answer.set_changed(true);
  answer.set_epochs_apart(
      static_cast<uint32_t>(std::min<uint64_t>(kept.epochs_apart(), UINT32_MAX)));
  Show(decision, *answer.mutable_decision());
  if (record.decisions_size() >= kMaxDecisions) {
    record.mutable_decisions()->erase(record.mutable_decisions()->begin());
  }
  *record.add_decisions() = std::move(decision);
  return answer;
}

absl::Status MaySpeak(const storage::NodeRecord& record, const std::string& incarnation,
                      const std::string& fingerprint) {
  const auto found =
      std::find_if(record.incarnations().begin(), record.incarnations().end(),
                   [&](const v1::KnownIncarnation& known) { return known.id() == incarnation; });
  if (found == record.incarnations().end()) return absl::OkStatus();
  const bool other_machine = !found->kept_machine().empty() && !fingerprint.empty() &&
                             found->kept_machine() != fingerprint;
  if (found->status() != v1::INCARNATION_STATUS_REFUSED && !other_machine) return absl::OkStatus();
  const v1::CloneDecision* last = LastDecision(record);
  const std::string who =
      last == nullptr ? "an operator"
                      : absl::StrCat("operator ", last->by(), " (",
                                     absl::FormatTime(
                                         "%Y-%m-%d %H:%M UTC",
                                         absl::FromUnixNanos(static_cast<int64_t>(last->time_ns())),
                                         absl::UTCTimeZone()),
                                     ")");
  std::string agent = ShortId(incarnation);
  if (other_machine) absl::StrAppend(&agent, "/", ShortId(fingerprint));
  return absl::PermissionDeniedError(absl::StrCat(
      "refused: ", who, " decided for another agent of node ", record.name(),
      "; give this machine a certificate of its own or stop this agent; if this is the right one: "
      "telltale nodes --node ",
      record.name(), " --keep ", agent));
}

}  // namespace telltale::ingest
