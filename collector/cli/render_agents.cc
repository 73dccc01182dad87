#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

constexpr size_t kShownDigits = 8;

std::string Short(const std::string& id) { return Escaped(id.substr(0, kShownDigits)); }

// As --keep takes it: with the machine where one id stands for two.
std::string IdOf(const v1::NodeAgent& agent, const v1::Node& node) {
  const auto alike = std::count_if(node.agents().begin(), node.agents().end(),
                                   [&](const auto& other) { return other.id() == agent.id(); });
  if (alike < 2 || agent.machine().empty()) return Short(agent.id());
  return absl::StrCat(Short(agent.id()), "/", Short(agent.machine()));
}

// "ipv4:10.0.0.7:51234" -> "10.0.0.7": the port says nothing.
std::string HostOf(const std::string& address) {
  absl::string_view host = address;
  if (!absl::ConsumePrefix(&host, "ipv4:")) absl::ConsumePrefix(&host, "ipv6:");
  return Escaped(std::string(host.substr(0, host.rfind(':'))));
}

std::string StateText(const v1::NodeAgent& agent, const View& view) {
  switch (agent.state()) {
    case v1::NodeAgent::COUNTED:
      return Painted(agent.kept() ? "kept" : "counted", Ink::kGood, view.style);
    case v1::NodeAgent::APART:
      return Painted("KEPT APART", Ink::kBad, view.style);
    case v1::NodeAgent::REFUSED:
      return Painted("refused", Ink::kWarn, view.style);
    default:
      return "unknown";
  }
}

std::string DecisionText(const v1::NodeDecision& decision, const View& view) {
  std::vector<std::string> refused;
  for (const std::string& id : decision.refused()) refused.push_back(Short(id));
  return absl::StrCat("operator ", Escaped(decision.by()), " decided for ", Short(decision.kept()),
                      decision.machine().empty() ? "" : "/" + Short(decision.machine()), " at ",
                      ClockText(decision.time_s(), view.now, view.zone),
                      refused.empty() ? "" : ", against " + absl::StrJoin(refused, ", "));
}

std::string AgentsOf(const v1::Node& node, const View& view) {
  using Align = Table::Align;
  Table table({{"agent"},
               {"state"},
               {"epochs apart", Align::kRight},
               {"address"},
               {"machine"},
               {"boot"},
               {"kernel"},
               {"version"},
               {"first seen"},
               {"connected last"}});
  for (const v1::NodeAgent& agent : node.agents()) {
    table.Add({IdOf(agent, node), StateText(agent, view),
               agent.epochs_apart() > 0 ? absl::StrCat(Count(agent.epochs_apart()),
                                                       agent.adopting() ? " (counting)" : "")
                                        : "",
               HostOf(agent.address()), Short(agent.machine()), Short(agent.boot_id()),
               Escaped(agent.kernel_release()), Escaped(agent.agent_version()),
               ClockText(agent.first_s(), view.now, view.zone),
               ClockText(agent.last_s(), view.now, view.zone)});
  }
  std::string out = absl::StrCat(
      "\n", Painted("agents that spoke as " + Escaped(node.name()), Ink::kBold, view.style), "\n",
      table.Render(view.style, "  "));
  for (const v1::NodeDecision& decision : node.decisions()) {
    absl::StrAppend(&out, "  ", DecisionText(decision, view), "\n");
  }
  if (node.state() != v1::Node::CLONE_CONFLICT) return out;
  absl::StrAppend(
      &out,
      "What is kept apart is in no answer. Say which agent is this node; the others are "
      "refused:\n");
  for (const v1::NodeAgent& agent : node.agents()) {
    const bool in_question = agent.state() == v1::NodeAgent::APART || agent.kept();
    if (!in_question) continue;
    absl::StrAppend(&out, "  telltale nodes --node ", Escaped(node.name()), " --keep ",
                    IdOf(agent, node), "\n");
  }
  return out;
}

}  // namespace

std::string RenderAgents(const v1::NodesAnswer& answer, bool named, const View& view) {
  std::string out;
  for (const v1::Node& node : answer.nodes()) {
    if (named && !node.agents().empty()) {
      absl::StrAppend(&out, AgentsOf(node, view));
    } else if (node.state() == v1::Node::CLONE_CONFLICT) {
      absl::StrAppend(&out, Escaped(node.name()),
                      ": who they are and how to end it: telltale nodes --node ",
                      Escaped(node.name()), "\n");
    }
  }
  return out;
}

std::string RenderKept(const std::string& node, const v1::KeepAnswer& answer, const View& view) {
  const std::string name = Escaped(node), kept = Short(answer.kept());
  if (!answer.changed()) {
    return absl::StrCat(name, ": nothing to decide, agent ", kept, " counts already",
                        answer.has_decision() ? "; " + DecisionText(answer.decision(), view) : "",
                        "\n\n");
  }
  std::string out = absl::StrCat(name, ": agent ", kept, " is kept");
  if (answer.epochs_apart() > 0) {
    const std::string epochs = Plural(answer.epochs_apart(), "epoch");
    absl::StrAppend(&out, answer.undivided()
                              ? absl::StrCat("; ", epochs,
                                             " stay apart: two machines sent them "
                                             "under one id")
                              : absl::StrCat("; ", epochs, " that were apart are being counted"));
  }
  absl::StrAppend(&out, "\n");
  for (const std::string& refused : answer.decision().refused()) {
    absl::StrAppend(&out, name, ": agent ", Short(refused),
                    " is refused; give that machine a certificate of its own, or stop its agent\n");
  }
  return out + "\n";
}

}  // namespace telltale::cli
