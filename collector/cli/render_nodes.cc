#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

std::string StateText(const v1::Node& node, const View& view) {
  switch (node.state()) {
    case v1::Node::REPORTING:
      return Painted("reporting", Ink::kGood, view.style);
    case v1::Node::SILENT:
      return Painted(
          absl::StrCat("silent since ", ClockText(node.silent_since_s(), view.now, view.zone)),
          Ink::kBad, view.style);
    case v1::Node::STOPPED:
      return "stopped";
    case v1::Node::NEVER:
      return "never reported";
    case v1::Node::CLONE_CONFLICT:
      return Painted("CLONE CONFLICT", Ink::kBad, view.style);
    default:
      return "unknown";
  }
}

std::string VitalStateText(v1::VitalState state, const View& view) {
  switch (state) {
    case v1::VITAL_STATE_ACTIVE:
      return Painted("active", Ink::kGood, view.style);
    case v1::VITAL_STATE_DEGRADED:
      return Painted("degraded", Ink::kWarn, view.style);
    case v1::VITAL_STATE_UNAVAILABLE:
      return Painted("unavailable", Ink::kBad, view.style);
    default:
      return "unknown";
  }
}

std::string VitalsText(const v1::Node& node) {
  std::vector<std::string> parts = {absl::StrCat(node.vitals_active(), " active")};
  if (node.vitals_degraded() > 0)
    parts.push_back(absl::StrCat(node.vitals_degraded(), " degraded"));
  if (node.vitals_unavailable() > 0)
    parts.push_back(absl::StrCat(node.vitals_unavailable(), " unavailable"));
  return absl::StrJoin(parts, ", ");
}

// Of the host's CPU time; marked where it is more than the agent may take.
std::string CostText(const v1::Node& node, const View& view) {
  if (node.agent_cost() <= 0) return "";
  std::string text = Share(node.agent_cost());
  const bool over = node.agent_limit() > 0 && node.agent_cost() > node.agent_limit();
  return over ? Painted(text, Ink::kWarn, view.style) : text;
}

}  // namespace

std::string RenderNodes(const v1::NodesAnswer& answer, const View& view) {
  if (answer.nodes().empty()) return "no node ever reported to this collector\n";
  using Align = Table::Align;
  Table table({{"node"},
               {"state"},
               {"last epoch"},
               {"epochs", Align::kRight},
               {"lost", Align::kRight},
               {"every", Align::kRight},
               {"vitals"},
               {"cost", Align::kRight},
               {"clock", Align::kRight},
               {"CPUs", Align::kRight},
               {"kernel"},
               {"agent"},
               {"labels"}});
  std::string remarks;
  for (const v1::Node& node : answer.nodes()) {
    std::vector<std::string> labels;
    for (const v1::Label& label : node.info().labels())
      labels.push_back(Escaped(absl::StrCat(label.key(), "=", label.value())));
    table.Add({Escaped(node.name()), StateText(node, view),
               node.last_s() > 0 ? ClockText(node.last_s(), view.now, view.zone) : "",
               Count(node.epochs_received()),
               node.epochs_lost() > 0 ? Count(node.epochs_lost()) : "",
               node.epoch_length_s() > 0 ? absl::StrCat(node.epoch_length_s(), " s") : "",
               VitalsText(node), CostText(node, view),
               node.clock_error_s() > 0 ? absl::StrCat(node.clock_offset_s() < 0 ? "" : "+",
                                                       Quantity(node.clock_offset_s(), "s"))
                                        : "",
               node.info().cpus_online() > 0 ? Count(node.info().cpus_online()) : "",
               Escaped(node.info().kernel_release()), Escaped(node.info().agent_version()),
               absl::StrJoin(labels, " ")});
    for (const std::string& remark : node.remarks()) {
      absl::StrAppend(&remarks,
                      Painted(absl::StrCat(Escaped(node.name()), ": ", Escaped(remark)), Ink::kWarn,
                              view.style),
                      "\n");
    }
  }
  return absl::StrCat(table.Render(view.style), ZoneLine(view), remarks.empty() ? "" : "\n",
                      remarks);
}

std::string RenderVitals(const v1::VitalsAnswer& vitals, const v1::NodesAnswer& nodes,
                         const View& view) {
  std::map<uint32_t, const v1::VitalDescriptor*> known;
  for (const v1::VitalDescriptor& vital : vitals.vitals()) known[vital.id()] = &vital;
  std::string out;
  for (const v1::Node& node : nodes.nodes()) {
    Table table({{"vital"}, {"state"}, {"what it counts"}, {"hook"}, {"reason"}});
    for (const v1::VitalStatus& status : node.info().vitals()) {
      const auto vital = known.find(status.id());
      table.Add({vital == known.end() ? absl::StrCat("vital ", status.id())
                                      : Escaped(vital->second->name()),
                 VitalStateText(status.state(), view),
                 vital == known.end() ? "" : Escaped(vital->second->about()),
                 Escaped(status.hook()), Escaped(status.reason())});
    }
    absl::StrAppend(
        &out, out.empty() ? "" : "\n",
        Painted(absl::StrCat(Escaped(node.name()), ": ", VitalsText(node)), Ink::kBold, view.style),
        "\n", table.Render(view.style, "  "));
  }
  if (!nodes.nodes().empty()) return out;
  Table table({{"vital"}, {"unit"}, {"sub-series"}, {"what it counts"}});
  for (const v1::VitalDescriptor& vital : vitals.vitals()) {
    std::vector<std::string> subs;
    for (const v1::SubDescriptor& sub : vital.subs()) subs.push_back(Escaped(sub.name()));
    std::string unit = v1::Unit_Name(vital.unit());
    unit = unit.size() > 5 ? unit.substr(5) : unit;
    std::transform(unit.begin(), unit.end(), unit.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    table.Add({Escaped(vital.name()), unit, absl::StrJoin(subs, ", "), Escaped(vital.about())});
  }
  return absl::StrCat("no node ever reported; vitals this collector knows:\n",
                      table.Render(view.style, "  "));
}

std::string RenderStatus(const v1::StatusAnswer& answer, const View& view) {
  Table table({{""}, {""}});
  const auto row = [&](const std::string& name, const std::string& value) {
    table.Add({name, value});
  };
  row("collector", absl::StrCat("version ", Escaped(answer.version()), ", up ",
                                LengthText(answer.now_s() - answer.start_s())));
  row("store", Escaped(answer.store_id()));
  row("nodes", absl::StrCat(answer.nodes_known(), " known, ", answer.nodes_reporting(),
                            " reporting, ", answer.nodes_silent(), " silent, ",
                            answer.nodes_degraded(), " with vitals missing or degraded",
                            answer.clone_conflicts() > 0
                                ? absl::StrCat(", ", answer.clone_conflicts(), " in CLONE CONFLICT")
                                : ""));
  row("summaries", absl::StrCat(Count(static_cast<double>(answer.stored_summaries())), " stored"));
  if (answer.ack_p50_s() > 0) {
    row("ack", absl::StrCat(Quantity(answer.ack_p50_s(), "s"), " median, ",
                            Quantity(answer.ack_p99_s(), "s"), " at 99 %"));
  }
  if (!answer.not_storing().empty()) {
    row("NOT STORING", absl::StrCat(Escaped(answer.not_storing()),
                                    "; agents keep their epochs and send them again"));
  }
  row("windows", absl::StrCat(answer.dirty_windows(), " to be computed"));
  std::string out = table.Render(view.style);
  if (!answer.store().empty()) {
    Table sizes({{"tier"}, {"size", Table::Align::kRight}, {"from"}, {"to"}});
    for (const v1::StoreSize& size : answer.store()) {
      sizes.Add({Escaped(size.family()), Quantity(size.bytes(), "bytes"),
                 size.oldest_s() > 0 ? MomentText(size.oldest_s(), view.zone) : "",
                 size.newest_s() > 0 ? MomentText(size.newest_s(), view.zone) : ""});
    }
    absl::StrAppend(&out, "\n", sizes.Render(view.style), ZoneLine(view));
  }
  if (!answer.refused().empty()) {
    Table refused({{"refused or dropped"}, {"times", Table::Align::kRight}});
    for (const v1::ReasonCount& reason : answer.refused())
      refused.Add({Escaped(reason.reason()), Count(reason.events())});
    absl::StrAppend(&out, "\n", refused.Render(view.style));
  }
  if (!answer.filters().empty()) {
    Table filters({{"filter"},
                   {"version", Table::Align::kRight},
                   {"state"},
                   {"behind", Table::Align::kRight},
                   {"anomalies", Table::Align::kRight},
                   {"reason"}});
    for (const v1::FilterStatus& filter : answer.filters()) {
      filters.Add({Escaped(filter.name()), absl::StrCat(filter.version()), Escaped(filter.state()),
                   LengthText(filter.lag_s()), Count(filter.anomalies()),
                   Escaped(filter.reason())});
    }
    absl::StrAppend(&out, "\n", filters.Render(view.style));
  }
  return out;
}

}  // namespace telltale::cli
