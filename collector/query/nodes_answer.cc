#include "collector/query/nodes_answer.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/query/base_unit.h"
#include "collector/query/vital_choice.h"

namespace telltale::query {
namespace {

uint32_t Clamped(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX));
}

std::string Hex(const std::string& bytes) { return std::string(absl::BytesToHexString(bytes)); }

// One for each machine an incarnation was seen on.
void ShowAgents(const v1::KnownIncarnation& known, v1::Node& node) {
  v1::NodeAgent agent;
  agent.set_id(Hex(known.id()));
  agent.set_state(static_cast<v1::NodeAgent::State>(known.status()));
  agent.set_kept(known.kept());
  agent.set_first_s(Seconds(known.first_seen_ns()));
  agent.set_last_s(Seconds(known.last_seen_ns()));
  agent.set_epochs_apart(Clamped(known.epochs_apart()));
  agent.set_adopting(known.adopting());
  if (known.machines().empty()) *node.add_agents() = agent;  // told by an older program
  for (const v1::SeenMachine& machine : known.machines()) {
    v1::NodeAgent& shown = *node.add_agents() = agent;
    shown.set_machine(Hex(machine.fingerprint()));
    const bool other = !known.kept_machine().empty() && !machine.fingerprint().empty() &&
                       machine.fingerprint() != known.kept_machine();
    if (other) {
      shown.set_state(v1::NodeAgent::REFUSED);
      shown.set_kept(false);
    }
    shown.set_address(machine.address());
    shown.set_kernel_release(machine.kernel_release());
    shown.set_boot_id(Hex(machine.boot_id()));
    shown.set_agent_version(machine.agent_version());
    shown.set_first_s(Seconds(machine.first_seen_ns()));
    shown.set_last_s(Seconds(machine.last_seen_ns()));
  }
}

void ShowDecision(const v1::CloneDecision& decision, v1::NodeDecision& shown) {
  shown.set_kept(Hex(decision.kept()));
  shown.set_machine(Hex(decision.machine()));
  for (const std::string& refused : decision.refused()) shown.add_refused(Hex(refused));
  shown.set_by(decision.by());
  shown.set_time_s(Seconds(decision.time_ns()));
}

std::string_view KindName(v1::RemarkKind kind) {
  switch (kind) {
    case v1::REMARK_KIND_CLOCK:
      return "clock";
    case v1::REMARK_KIND_CLONE:
      return "clone";
    case v1::REMARK_KIND_CONFLICT:
      return "conflict";
    case v1::REMARK_KIND_REINSTALLED:
      return "reinstalled";
    case v1::REMARK_KIND_IMPLAUSIBLE:
      return "implausible";
    case v1::REMARK_KIND_QUOTA:
      return "quota";
    case v1::REMARK_KIND_REFUSED:
      return "refused";
    case v1::REMARK_KIND_OTHER:
      return "other";
    case v1::REMARK_KIND_SPOOL:
      return "spool";
    case v1::REMARK_KIND_LATE:
      return "too late";
    case v1::REMARK_KIND_OVERLAP:
      return "overlap";
    case v1::REMARK_KIND_CLOCK_STEP:
      return "clock step";
    default:
      return "remark";
  }
}

std::string RemarkText(const v1::Remark& remark) {
  const std::string text = absl::StrCat(std::string(KindName(remark.kind())), ": ", remark.text());
  return remark.count() > 1 ? absl::StrCat(text, " (x ", remark.count(), ")") : text;
}

v1::Node Show(const storage::NodeRecord& record, const Source& source) {
  v1::Node node;
  node.set_name(record.name());
  *node.mutable_info() = record.info();
  node.set_state(static_cast<v1::Node::State>(record.state()));
  if (record.state() == v1::NODE_STATE_SILENT) {
    node.set_silent_since_s(
        Seconds(record.last_epoch_ns() > 0 ? record.last_epoch_ns() : record.state_since_ns()));
  }
  node.set_first_s(Seconds(record.first_epoch_ns()));
  node.set_last_s(Seconds(record.last_epoch_ns()));
  node.set_clock_offset_s(static_cast<double>(record.clock_offset_ns()) * 1e-9);
  node.set_clock_error_s(Seconds(record.clock_error_ns()));
  uint64_t received = 0, lost = 0;
  for (const auto& [incarnation, ledger] : source.Ledgers(record.number())) {
    received += ledger.received_count();
    lost += ledger.lost_count();
  }
  node.set_epochs_received(Clamped(received));
  node.set_epochs_lost(Clamped(lost));
  const storage::NodeCounters counters = source.Counters(record.number());
  node.set_agent_cost(counters.cost_ppm * 1e-6);
  node.set_agent_budget(counters.budget_ppm * 1e-6);
  node.set_agent_limit(counters.LimitPpm() * 1e-6);
  for (const v1::VitalStatus& vital : record.info().vitals()) {
    if (vital.state() == v1::VITAL_STATE_ACTIVE) node.set_vitals_active(node.vitals_active() + 1);
    if (vital.state() == v1::VITAL_STATE_DEGRADED)
      node.set_vitals_degraded(node.vitals_degraded() + 1);
    if (vital.state() == v1::VITAL_STATE_UNAVAILABLE)
      node.set_vitals_unavailable(node.vitals_unavailable() + 1);
  }
  const double offset = node.clock_offset_s();
  if (record.clock_error_ns() > 0 && std::abs(offset) > 1) {
    node.add_remarks(
        absl::StrFormat("clock %.0f s %s", std::abs(offset), offset > 0 ? "behind" : "ahead"));
  }
  if (!record.info().scope().empty()) {
    node.add_remarks(absl::StrCat("only tasks of cgroup ", record.info().scope(), " are counted"));
  }
  for (const v1::Remark& remark : record.remarks()) {
    node.add_remarks(RemarkText(remark));
  }
  if (record.remarks_dropped() > 0) {
    node.add_remarks(absl::StrCat(record.remarks_dropped(), " older remarks dropped"));
  }
  node.set_epoch_length_s(record.info().epoch_length_s());
  node.set_peer_address(record.peer_address());
  for (const v1::KnownIncarnation& known : record.incarnations()) ShowAgents(known, node);
  for (const v1::CloneDecision& decision : record.decisions()) {
    ShowDecision(decision, *node.add_decisions());
  }
  return node;
}

}  // namespace

absl::StatusOr<v1::NodesAnswer> AnswerNodes(const v1::NodesRequest& request,
                                            const Context& context) {
  v1::NodesAnswer answer;
  std::vector<storage::SharedNode> nodes = context.source->Nodes().shared();
  std::sort(nodes.begin(), nodes.end(),
            [](const auto& a, const auto& b) { return a->name() < b->name(); });
  for (const storage::SharedNode& record : nodes) {
    absl::StatusOr<bool> matches = MatchesLabels(*record, request.label_matches());
    if (!matches.ok()) return matches.status();
    if (*matches) *answer.add_nodes() = Show(*record, *context.source);
  }
  return answer;
}

absl::StatusOr<v1::VitalsAnswer> AnswerVitals(const Context& context) {
  Selection everything;
  everything.nodes = context.source->Nodes();
  const VitalBook book(everything, context);
  v1::VitalsAnswer answer;
  for (const auto& [id, vital] : book.all()) *answer.add_vitals() = vital;
  return answer;
}

absl::StatusOr<v1::StatusAnswer> AnswerStatus(const Context& context) {
  v1::StatusAnswer answer;
  answer.set_now_s(Seconds(context.now_ns));
  for (const storage::NodeRecord& node : context.source->Nodes()) {
    answer.set_nodes_known(answer.nodes_known() + 1);
    if (node.state() == v1::NODE_STATE_REPORTING)
      answer.set_nodes_reporting(answer.nodes_reporting() + 1);
    if (node.state() == v1::NODE_STATE_SILENT) answer.set_nodes_silent(answer.nodes_silent() + 1);
    if (node.state() == v1::NODE_STATE_CLONE_CONFLICT)
      answer.set_clone_conflicts(answer.clone_conflicts() + 1);
    const auto& vitals = node.info().vitals();
    const bool degraded = std::any_of(
        vitals.begin(), vitals.end(),
        [](const v1::VitalStatus& vital) { return vital.state() != v1::VITAL_STATE_ACTIVE; });
    if (degraded) answer.set_nodes_degraded(answer.nodes_degraded() + 1);
  }
  absl::StatusOr<std::vector<storage::StoreSizeRow>> sizes = context.source->Sizes();
  if (!sizes.ok()) return sizes.status();
  for (const storage::StoreSizeRow& size : *sizes) {
    v1::StoreSize* out = answer.add_store();
    out->set_family(size.family);
    out->set_bytes(static_cast<double>(size.bytes));
    out->set_oldest_s(Seconds(size.oldest_ns));
    out->set_newest_s(Seconds(size.newest_ns));
  }
  answer.set_dirty_windows(Clamped(context.source->DirtyWindows()));
  answer.set_stored_summaries(context.source->StoredSummaries());
  return answer;
}

}  // namespace telltale::query
