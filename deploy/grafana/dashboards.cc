// What the four dashboards show. Order: what an on-call engineer asks first stands first.
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "collector/metrics/metric_table.h"
#include "deploy/grafana/dashboard.h"
#include "deploy/grafana/promql.h"
#include "sketch/vitals.h"

namespace telltale::grafana {
namespace {

metrics::VitalMetrics Rows(const sketch::Vital& vital) {
  return metrics::MetricsOfVital(vital.id, vital.name, vital.unit, vital.about);
}

// Grafana's name for a rate of the metric's unit.
std::string RateUnit(const std::string& unit) {
  if (unit == "bytes") return "Bps";
  // Seconds in each second: how many tasks or CPUs at a time.
  if (unit == "seconds") return "none";
  return "cps";
}

std::string RateTitle(const sketch::Vital& vital, const std::string& unit) {
  return absl::StrCat(std::string(vital.name),
                      unit == "seconds" ? " (seconds a second)" : absl::StrCat(" (", unit, "/s)"));
}

Panel Stat(std::string title, std::string about, std::string unit, Target target) {
  return {.title = std::move(title),
          .about = std::move(about),
          .kind = PanelKind::kStat,
          .unit = std::move(unit),
          .targets = {std::move(target)},
          .width = 4,
          .height = 4};
}

Panel Lines(std::string title, std::string about, std::string unit, std::vector<Target> targets) {
  return {.title = std::move(title),
          .about = std::move(about),
          .unit = std::move(unit),
          .targets = std::move(targets)};
}

Variable GroupVariable() {
  return {.name = "group",
          .label = "Group",
          .query = "label_values(telltale_fleet_nodes, group)",
          .multiple = true};
}

std::string NodesIn(std::string_view state) {
  return absl::StrCat(
      "sum(",
      Query("telltale_fleet_nodes").With("group", "=~", "$group").With("state", "=", state).text(),
      ")");
}

Dashboard Fleet() {
  Row now = {"Now", {}};
  now.panels = {
      Stat("Reporting", "Nodes whose epochs arrive.", "short", {NodesIn("reporting"), ""}),
      Stat(
          "Silent",
          "Nodes that went without a goodbye: telltale nodes says since when. Planned stops do not "
          "count.",
          "short", {NodesIn("silent"), ""}),
      Stat("Clone conflicts", "Two machines use one certificate: telltale nodes --node N --keep.",
           "short", {NodesIn("clone_conflict"), ""}),
      Stat("Degraded",
           "Nodes that count a vital by a weaker hook or not at all: telltale vitals says why.",
           "short",
           {absl::StrCat(
                "sum(", Query("telltale_fleet_nodes_degraded").With("group", "=~", "$group").text(),
                ")"),
            ""}),
      Stat("Epochs missing", "Declared lost or never received, of the whole store.", "short",
           {Query("telltale_epochs_missing").text(), ""}),
      Stat("Epochs a second", "Received and counted; nodes divided by the length of an epoch.",
           "short", {Query("telltale_epochs_received_total").Rate().text(), ""}),
  };
  Row course = {"Course", {}};
  Panel states =
      Lines("Nodes by state", "", "short",
            {{Query("telltale_fleet_nodes").With("group", "=~", "$group").SumBy({"state"}).text(),
              "{{state}}"}});
  states.stacked = true;
  course.panels = {
      states,
      Lines("Anomalies by vital", "Found by filters; telltale anomalies has each with its node.",
            "short",
            // A fleet without any has no such series yet: a line at nought, not "No data".
            {{Query("telltale_anomalies_total").Rate().SumBy({"vital"}).text() + " or vector(0)",
              "{{vital}}"}}),
      Lines("Events not counted or kept", "By reason; answers say the same as their coverage.",
            "cps",
            {{Query("telltale_events_lost_total").Rate().SumBy({"reason"}).text(), "{{reason}}"}}),
  };
  Row vitals = {"Vitals: a node's rate, over the nodes of a group", {}};
  for (const sketch::Vital& vital : sketch::Vitals()) {
    const metrics::VitalMetrics rows = Rows(vital);
    vitals.panels.push_back(Lines(
        RateTitle(vital, rows.node.unit),
        absl::StrCat("Half of the nodes, all but one in a hundred, and the highest: ",
                     std::string(vital.about), "."),
        RateUnit(rows.node.unit),
        {{Query(rows.rates).With("group", "=~", "$group").With("q", "=~", "0.5|0.99|1").text(),
          "{{group}} q{{q}}"}}));
  }
  return {.uid = "telltale-fleet",
          .title = "Telltale: fleet",
          .about = "All nodes together: who reports, what is lost, how the vitals spread.",
          .variables = {GroupVariable()},
          .rows = {now, course, vitals}};
}

Dashboard Node() {
  const auto of_node = [](std::string_view metric) {
    return Query(metric).With("node", "=~", "$node");
  };
  Row now = {"Now", {}};
  now.panels = {
      Stat("Reports", "1: its epochs arrive.", "short",
           {of_node("telltale_node_reporting").text(), "{{node}}"}),
      Stat("Age of the latest epoch",
           "An epoch (60 s), and by the size of the fleet 1 to 55 s of sending, are as it should "
           "be.",
           "s",
           {absl::StrCat("time() - ", of_node("telltale_node_last_epoch_seconds").text()),
            "{{node}}"}),
      Stat("Epochs missing", "Declared lost or never received.", "short",
           {of_node("telltale_node_epochs_missing").text(), "{{node}}"}),
      Stat("CPUs for the agent", "All its processes; 0.01 is a hundredth of one CPU.", "none",
           {of_node("telltale_agent_cpu_seconds_total").Rate().text(), "{{node}}"}),
      Stat("Steps turned down", "To stay within sensor.budget; 0: it sees all.", "short",
           {of_node("telltale_agent_part_level").SumBy({"node"}).text(), "{{node}}"}),
      Stat("Vitals active", "telltale vitals --node N tells which are not, and why.", "short",
           {of_node("telltale_vital_state").With("state", "=", "active").SumBy({"node"}).text(),
            "{{node}}"}),
  };
  Row vitals = {"Vitals", {}};
  for (const sketch::Vital& vital : sketch::Vitals()) {
    const metrics::VitalMetrics rows = Rows(vital);
    Panel panel = Lines(
        RateTitle(vital, rows.node.unit),
        absl::StrCat("telltale top --node N --vital ", std::string(vital.name),
                     " tells who and from which line."),
        RateUnit(rows.node.unit),
        {{Query(rows.node).With("node", "=~", "$node").Rate().SumBy({"sub"}).text(), "{{sub}}"}});
    panel.stacked = true;
    vitals.panels.push_back(std::move(panel));
  }
  Row agent = {"The agent itself", {}};
  agent.panels = {
      Lines("CPUs by part", "As the agent reckons it.", "none",
            {{of_node("telltale_agent_part_cpu_seconds_total").Rate().SumBy({"part"}).text(),
              "{{part}}"}}),
      Lines("Events not counted or kept", "By reason.", "cps",
            {{of_node("telltale_node_events_lost_total").Rate().SumBy({"reason"}).text(),
              "{{reason}}"}}),
      Lines(
          "Frames of user stacks by name",
          "named and generated are good; deploy/docs/agent.md has the rest.", "cps",
          {{of_node("telltale_node_user_frames_total").Rate().SumBy({"name"}).text(), "{{name}}"}}),
  };
  return {.uid = "telltale-node",
          .title = "Telltale: node",
          .about = "One node, all vitals.",
          .variables = {{.name = "node",
                         .label = "Node",
                         .query = "label_values(telltale_node_reporting, node)"}},
          .rows = {now, vitals, agent}};
}

Dashboard VitalDrillDown() {
  Variable vital = {.name = "vital", .label = "Vital"};
  for (const sketch::Vital& each : sketch::Vitals()) {
    const std::string name = Rows(each).node.name;  // telltale_STEM_total
    vital.choices.emplace_back(each.name,
                               absl::StripSuffix(absl::StripPrefix(name, "telltale_"), "_total"));
  }
  // The name of the metric is chosen by the reader: the table cannot be asked here, the test that
  // runs every panel with every choice can.
  const std::string node = "telltale_${vital}_total", fleet = "telltale_fleet_${vital}";
  Row all = {"The fleet", {}};
  all.panels = {
      Lines("Spread over the nodes", "A node's rate: half, 9 in 10, 99 in 100, the highest.",
            "short", {{absl::StrCat(fleet, "_per_second{group=~\"$group\"}"), "{{group}} q{{q}}"}}),
      Lines("By kind", "Sum over all nodes.", "short",
            {{absl::StrCat("sum by (sub) (rate(", fleet,
                           "_total{group=~\"$group\"}[$__rate_interval]))"),
              "{{sub}}"}}),
      Lines("By group", "Sum over all nodes.", "short",
            {{absl::StrCat("sum by (group) (rate(", fleet,
                           "_total{group=~\"$group\"}[$__rate_interval]))"),
              "{{group}}"}}),
  };
  Row nodes = {"The nodes", {}};
  Panel top = Lines(
      "The ten highest", "Go on with telltale top --node N --vital V.", "short",
      {{absl::StrCat("topk(10, sum by (node) (rate(", node, "[$__rate_interval])))"), "{{node}}"}});
  top.width = 12;
  Panel changed = Lines(
      "The ten that grew most in an hour",
      "Rate now less the rate an hour ago. Empty while Prometheus has less than an hour.", "short",
      {{absl::StrCat("topk(10, sum by (node) (rate(", node,
                     "[$__rate_interval])) - sum by (node) "
                     "(rate(",
                     node, "[$__rate_interval] offset 1h)))"),
        "{{node}}"}});
  changed.width = 12;
  nodes.panels = {top, changed};
  return {.uid = "telltale-vital",
          .title = "Telltale: vital",
          .about = "One vital over all nodes: is it one node, a group, or everybody?",
          .variables = {vital, GroupVariable()},
          .rows = {all, nodes}};
}

std::string AckQuantile(std::string_view q) {
  return absl::StrCat("histogram_quantile(", std::string(q), ", ",
                      Query("telltale_ingest_ack_seconds", "_bucket").Rate().SumBy({"le"}).text(),
                      ")");
}

Dashboard Collector() {
  Row now = {"Now", {}};
  now.panels = {
      Stat("Free disk", "Of the file system with the data; retention.max_bytes bounds the store.",
           "percentunit",
           {absl::StrCat(Query("telltale_store_disk_free_bytes").text(), " / ",
                         Query("telltale_store_disk_size_bytes").text()),
            ""}),
      Stat("Certificates end in", "The collector's, its authorities', the first node's to end.",
           "s",
           {absl::StrCat(Query("telltale_certificate_end_seconds").text(), " - time()"), "{{of}}"}),
      Stat("Up since", "", "s",
           {absl::StrCat("time() - ", Query("process_start_time_seconds").text()), ""}),
      Stat("Nodes without series", "Above metrics.per_node_limit; the fleet's figures hold them.",
           "short", {Query("telltale_nodes_without_metrics").text(), ""}),
      Stat("HTTPS connections", "", "short", {Query("telltale_http_connections").text(), ""}),
      Stat("Version", "", "short", {Query("telltale_build_info").text(), "{{version}}"}),
  };
  Row ingest = {"Ingest", {}};
  ingest.panels = {
      Lines("Time to a durable acknowledgement", "The disk is the usual reason when it grows.", "s",
            {{AckQuantile("0.5"), "half"}, {AckQuantile("0.99"), "99 of 100"}}),
      Lines(
          "Not taken from agents", "By reason; HOSTILE.md says what leads to which.", "cps",
          {{Query("telltale_ingest_refused_total").Rate().SumBy({"reason"}).text(), "{{reason}}"}}),
      Lines("Windows to compute again", "Late epochs make some; growing for hours: too few CPUs.",
            "short", {{Query("telltale_dirty_windows").text(), "windows"}}),
      Lines("Filters behind", "Seconds behind the newest epoch they may see.", "s",
            {{Query("telltale_filter_lag_seconds").text(), "{{filter}}"}}),
      Lines("gRPC connections", "Waiting for their turn to agree on TLS: a fleet is coming back.",
            "short",
            {{Query("telltale_grpc_connections").text(), "open"},
             {Query("telltale_grpc_connections_waiting").text(), "waiting"}}),
      Lines("gRPC refused",
            "At the door, handshakes that failed, floods, and calls of those who may not.", "cps",
            {{Query("telltale_grpc_refused_total").Rate().SumBy({"reason"}).text(), "{{reason}}"}}),
      Lines("Epochs that count nowhere",
            "Too late for their windows, or of one of two machines with one certificate.", "cps",
            {{Query("telltale_epochs_too_late_total").Rate().text(), "too late"},
             {Query("telltale_epochs_apart_total").Rate().text(), "apart"}}),
  };
  Panel bytes =
      Lines("Size by tier", "", "bytes", {{Query("telltale_store_bytes").text(), "{{tier}}"}});
  bytes.stacked = true;
  Row store = {"Store and answers", {}};
  store.panels = {
      bytes,
      Lines("HTTPS answers", "By class of status.", "cps",
            {{Query("telltale_http_answers_total").Rate().SumBy({"class"}).text(), "{{class}}"}}),
      Lines("HTTPS refused", "By reason; HOSTILE.md says what leads to which.", "cps",
            {{Query("telltale_http_refused_total").Rate().SumBy({"reason"}).text(), "{{reason}}"}}),
      Lines("Kept answers asked for", "Hits cost nothing.", "cps",
            {{Query("telltale_answer_cache_lookups_total").Rate().SumBy({"result"}).text(),
              "{{result}}"}}),
      Lines("CPUs", "", "none", {{Query("process_cpu_seconds_total").Rate().text(), "CPUs"}}),
      Lines("Memory", "", "bytes", {{Query("process_resident_memory_bytes").text(), "resident"}}),
  };
  return {.uid = "telltale-collector",
          .title = "Telltale: collector",
          .about = "How the collector itself is.",
          .variables = {},
          .rows = {now, ingest, store}};
}

}  // namespace

std::vector<Dashboard> AllDashboards() { return {Fleet(), Node(), VitalDrillDown(), Collector()}; }

}  // namespace telltale::grafana
