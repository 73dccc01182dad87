#include "collector/metrics/metric_table.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace telltale::metrics {
namespace {

constexpr MetricType kCounter = MetricType::kCounter;
constexpr MetricType kGauge = MetricType::kGauge;
constexpr MetricType kHistogram = MetricType::kHistogram;

// Metric name of a vital where vital and unit alone do not read well.
constexpr std::pair<std::string_view, std::string_view> kVitalNames[] = {
    {"user_page", "user_pages"}, {"kernel_page", "kernel_pages"}, {"syscall", "syscalls"},
    {"signal", "signals"},       {"lock", "lock_wait_seconds"},
};

std::string_view BaseUnit(sketch::Unit unit) {
  return unit == sketch::Unit::kNanoseconds ? "seconds" : sketch::UnitName(unit);
}

std::string VitalStem(uint8_t id, std::string_view name, sketch::Unit unit) {
  const bool known = sketch::FindVital(id) != nullptr;
  for (const auto& [vital, stem] : kVitalNames) {
    if (known && vital == name) return std::string(stem);
  }
  std::string stem = known ? "" : absl::StrCat("vital", int{id}, "_");
  for (const char c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    stem += fits ? c : '_';
  }
  return stem + "_" + std::string(BaseUnit(unit));
}

std::vector<MetricRow> MakeTable() {
  std::vector<MetricRow> table = {
      {"telltale_build_info", kGauge, "1", {"version"}, "Always 1; which collector this is."},
      {"telltale_fleet_nodes",
       kGauge,
       "nodes",
       {"group", "state"},
       "Known nodes by state: reporting, silent (without a goodbye), stopped (planned), never (no "
       "epoch yet), "
       "clone_conflict. The group is the node's label `group`, else `default`."},
      {"telltale_fleet_nodes_degraded",
       kGauge,
       "nodes",
       {"group"},
       "Reporting nodes with at least one vital that is counted by a weaker hook or not at all."},
      {"telltale_fleet_agents_turned_down",
       kGauge,
       "nodes",
       {"group"},
       "Reporting nodes whose agent watches less to stay within its budget."},
      {"telltale_fleet_agents_over_budget",
       kGauge,
       "nodes",
       {"group"},
       "Reporting nodes whose agent took more than 1.2 times its budget in the latest epoch, as it "
       "reckons; column `cost` of telltale nodes."},
      {"telltale_nodes_without_metrics",
       kGauge,
       "nodes",
       {},
       "Nodes above metrics.per_node_limit: they are in the fleet's figures but have none of their "
       "own here."},
      {"telltale_epochs_received_total", kCounter, "epochs", {}, "Epochs received and counted."},
      {"telltale_epochs_missing",
       kGauge,
       "epochs",
       {},
       "Epochs declared lost or never received; falls when late ones arrive."},
      {"telltale_epochs_too_late_total",
       kCounter,
       "epochs",
       {},
       "Epochs that came after their windows were sealed and were not stored."},
      {"telltale_epochs_apart_total",
       kCounter,
       "epochs",
       {},
       "Epochs of clones or conflicting ones, stored apart and left out of all sums."},
      {"telltale_epochs_adopted_total",
       kCounter,
       "epochs",
       {},
       "Of the epochs stored apart, those that count since an operator decided for their agent."},
      {"telltale_events_lost_total",
       kCounter,
       "events",
       {"reason"},
       "Events that sensors and agents could not count or keep, by reason."},
      {"telltale_anomalies_total",
       kCounter,
       "anomalies",
       {"vital", "filter"},
       "Anomalies found by filters since the store was made."},
      {"telltale_filter_lag_seconds",
       kGauge,
       "seconds",
       {"filter"},
       "How far the filter is behind the newest epoch it may see."},
      {"telltale_filter_epochs_skipped_total",
       kCounter,
       "epochs",
       {"filter"},
       "Epochs that came after the filter had passed their time; stored, but not seen by it."},
      {"telltale_filter_epochs_unreadable_total",
       kCounter,
       "epochs",
       {"filter"},
       "Stored epochs that could not be opened and were not seen by the filter; several in one "
       "damaged block count once."},
      {"telltale_filter_outputs_dropped_total",
       kCounter,
       "outputs",
       {"filter"},
       "What a filter emitted and was not kept: too many in an hour, or times that are not its "
       "epoch's."},
      {"telltale_filter_disabled",
       kGauge,
       "",
       {"filter"},
       "1 if a filter from filters.d is disabled; telltale filter list says why and until when."},
      {"telltale_filter_failures_total",
       kCounter,
       "failures",
       {"filter"},
       "How often a filter from filters.d was disabled since its file is what it is."},
      {"telltale_filter_cpu_seconds_total",
       kCounter,
       "seconds",
       {"filter"},
       "Processor time that the processes of a filter from filters.d took."},
      {"telltale_filter_memory_bytes",
       kGauge,
       "bytes",
       {"filter"},
       "Memory that a filter from filters.d has taken, of filters.memory_bytes."},
      {"telltale_incidents_open",
       kGauge,
       "incidents",
       {},
       "Incidents that nobody has acknowledged and that are not over, those under silences left "
       "out."},
      {"telltale_incidents_acknowledged",
       kGauge,
       "incidents",
       {},
       "Incidents that somebody looks at, those under silences left out."},
      {"telltale_incidents_silenced",
       kGauge,
       "incidents",
       {},
       "Incidents under silences that are not over."},
      {"telltale_alertmanager_posts_total",
       kCounter,
       "posts",
       {"url", "result"},
       "Posts of incidents to each Alertmanager, ok and failed, since the collector's start."},
      {"telltale_ingest_ack_seconds",
       kHistogram,
       "seconds",
       {},
       "From the arrival of a summary to its durable acknowledgement."},
      {"telltale_ingest_spread_seconds",
       kGauge,
       "seconds",
       {},
       "Over how long agents spread what they send after a cut: as so many nodes need it, at most "
       "ingest.spread."},
      {"telltale_ingest_refused_total",
       kCounter,
       "summaries",
       {"reason"},
       "Summaries, streams and messages of agents not taken, by reason; HOSTILE.md says what leads "
       "to "
       "which."},
      {"telltale_epochs_implausible_total",
       kCounter,
       "epochs",
       {},
       "Epochs stored although their totals are more than the node's CPUs have time for, since the "
       "collector's start; telltale nodes says whose."},
      {"telltale_clone_conflicts_total",
       kCounter,
       "conflicts",
       {},
       "Times two machines were found to use one node's certificate, since the collector's start; "
       "telltale nodes shows whose and how to end it."},
      {"telltale_clone_decisions_total",
       kCounter,
       "decisions",
       {},
       "Clone conflicts an operator ended, since the collector's start."},
      {"telltale_store_bytes",
       kGauge,
       "bytes",
       {"tier"},
       "Size of the store by tier; dict: names of code locations, of all tiers."},
      {"telltale_store_disk_free_bytes",
       kGauge,
       "bytes",
       {},
       "Free space of the file system that holds the data directory."},
      {"telltale_store_disk_size_bytes",
       kGauge,
       "bytes",
       {},
       "Size of the file system that holds the data directory."},
      {"telltale_certificate_end_seconds",
       kGauge,
       "seconds",
       {"of"},
       "When the certificate is valid no longer, since 1970. collector: its own; authority: the "
       "last to end of those in tls.ca; nodes: the first to end of the nodes connected now."},
      {"telltale_tls_crl_next_update_timestamp_seconds",
       kGauge,
       "seconds",
       {},
       "When the first of the revocation lists in tls.crl should have made way for the next of its "
       "authority (nextUpdate), since 1970. It stays in force after that. Without lists: not "
       "shown."},
      {"telltale_dirty_windows",
       kGauge,
       "windows",
       {},
       "Rollup windows that wait to be computed again."},
      {"telltale_rollup_errors_total",
       kCounter,
       "attempts",
       {},
       "Failed attempts to compute the windows of some nodes, since the collector's start. They "
       "are tried again as long as their raw epochs are kept."},
      {"telltale_rollup_windows_expired_total",
       kCounter,
       "windows",
       {},
       "Windows of 5 min of a node that still waited to be computed when their raw epochs expired, "
       "since the collector's start: what came for them since they were last computed, all of it "
       "if they never were, is in no tier any more."},
      {"telltale_store_unreadable_rows_total",
       kCounter,
       "rows",
       {"family"},
       "Stored rows that could not be read and were left out, by family or of the catalog, each "
       "time one was met since the collector's start; telltale-collector verify of a backup names "
       "them."},
      {"telltale_names_contradicted_total",
       kCounter,
       "names",
       {},
       "Names a node told for code that other nodes call otherwise, since the collector's start: "
       "kept, and shown for that node alone. A few when symbols are installed on some nodes; "
       "many: a node that lies."},
      {"telltale_store_writable",
       kGauge,
       "1",
       {},
       "1: summaries are stored. 0: they are not, since the disk is full or a stored file is "
       "damaged; agents keep them, telltale status says why."},
      {"telltale_store_maintenance_failures_total",
       kCounter,
       "runs",
       {},
       "Times that retention and fleet graphs could not be brought up to date since the "
       "collector's "
       "start; tried each minute, the log says why. While it grows nothing expires."},
      {"telltale_answer_cache_lookups_total",
       kCounter,
       "answers",
       {"result"},
       "Series, top, stack and histogram questions by whether a kept answer was still valid: hit, "
       "miss."},
      {"telltale_answer_cache_evictions_total",
       kCounter,
       "answers",
       {},
       "Kept answers that made room for others; many: raise query.cache_bytes."},
      {"telltale_answer_cache_bytes", kGauge, "bytes", {}, "Size of the kept answers."},
      {"telltale_grpc_connections",
       kGauge,
       "connections",
       {},
       "Open gRPC connections, of agents and of people, those that still agree on TLS included."},
      {"telltale_grpc_connections_waiting",
       kGauge,
       "connections",
       {},
       "Connections that wait for their turn to agree on TLS: a fleet is coming back."},
      {"telltale_grpc_refused_total",
       kCounter,
       "connections",
       {"reason"},
       "gRPC connections refused before a handshake (files: few file descriptors are left, rate: "
       "so many of one address wait that others would not get in), failures to take one in, "
       "which waits meanwhile (accept), those whose handshake failed (no_certificate, "
       "certificate: of another authority or not valid now, old_tls, not_tls, handshake_timeout, "
       "handshake: anything else), connections ended because they brought far more than the "
       "messages of their calls (flood), calls of those who may not make them (denied), "
       "questions while too many wait (busy) or that would take too much (too_large), questions "
       "and orders that say something impossible (parameter), orders to keep more than there may "
       "be (no_room), followers beyond the most there may be (followers) and those ended because "
       "they read nothing (stalled)."},
      {"telltale_enrolments_total",
       kCounter,
       "requests",
       {"outcome"},
       "Requests for a node's certificate by what became of them: issued, renewed, repeated (the "
       "answer was lost), waiting (for an operator); refused: token, request (name or signing "
       "request), denied, rate, failed (the collector could not)."},
      {"telltale_enrolments_waiting",
       kGauge,
       "requests",
       {},
       "Requests for a certificate that wait for an operator: telltale enroll list."},
      {"telltale_http_connections", kGauge, "connections", {}, "Open HTTPS connections."},
      {"telltale_http_answers_total",
       kCounter,
       "answers",
       {"class"},
       "HTTPS answers by class of status: 2xx, 4xx ..."},
      {"telltale_http_refused_total",
       kCounter,
       "connections",
       {"reason"},
       "HTTPS connections and requests ended early or refused: accept, full, rate, tls, timeout, "
       "aborted, bad_request, header_limit, body_limit, parameter, unauthenticated, token, "
       "forbidden, not_found, method, too_large, followers, no_room; HOSTILE.md says what leads to "
       "which."},
      {"process_cpu_seconds_total", kCounter, "seconds", {}, "CPU time of the collector."},
      {"process_resident_memory_bytes", kGauge, "bytes", {}, "Resident memory of the collector."},
      {"process_virtual_memory_bytes", kGauge, "bytes", {}, "Virtual memory of the collector."},
      {"process_open_fds", kGauge, "files", {}, "Open file descriptors of the collector."},
      {"process_max_fds", kGauge, "files", {}, "Limit of open file descriptors."},
      {"process_start_time_seconds",
       kGauge,
       "seconds",
       {},
       "When the collector started, since 1970."},
      {"telltale_node_reporting", kGauge, "1", {"node"}, "1: the node reports; 0: it does not."},
      {"telltale_node_last_epoch_seconds",
       kGauge,
       "seconds",
       {"node"},
       "End of the latest epoch received, since 1970."},
      {"telltale_node_epochs_missing",
       kGauge,
       "epochs",
       {"node"},
       "Epochs of the node declared lost or never received."},
      {"telltale_node_events_lost_total",
       kCounter,
       "events",
       {"node", "reason"},
       "Events the node's sensor and agent could not count or keep."},
      {"telltale_node_user_stacks_total",
       kCounter,
       "stacks",
       {"node", "end"},
       "User stacks sampled, by how they ended: complete (where the thread began) or why not."},
      {"telltale_node_user_frames_total",
       kCounter,
       "frames",
       {"node", "name"},
       "Frames of these stacks, by what they are called: named, generated (code made at run time, "
       "named by its perf map) or why they show as binary+offset."},
      {"telltale_agent_cpu_seconds_total",
       kCounter,
       "seconds",
       {"node"},
       "CPU time the agent itself took on the node, all its processes."},
      {"telltale_agent_part_cpu_seconds_total",
       kCounter,
       "seconds",
       {"node", "part"},
       "CPU time that a part of the agent took on the node, in the kernel and outside, as the "
       "agent "
       "reckons it."},
      {"telltale_agent_part_level",
       kGauge,
       "1",
       {"node", "part"},
       "How many steps a part of the agent is turned down to stay within its budget; 0: it sees "
       "all."},
      {"telltale_vital_state",
       kGauge,
       "1",
       {"node", "vital", "state"},
       "1 for the state each vital is in: active, degraded, unavailable."},
  };
  for (const sketch::Vital& vital : sketch::Vitals()) {
    VitalMetrics rows = MetricsOfVital(vital.id, vital.name, vital.unit, vital.about);
    table.push_back(std::move(rows.fleet));
    table.push_back(std::move(rows.rates));
    table.push_back(std::move(rows.node));
  }
  return table;
}

std::string_view TypeName(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "?";
}

}  // namespace

VitalMetrics MetricsOfVital(uint8_t id, std::string_view name, sketch::Unit unit,
                            std::string_view about) {
  const std::string stem = VitalStem(id, name, unit);
  const std::string base(BaseUnit(unit));
  const std::string subject(about);
  VitalMetrics rows;
  rows.node = {absl::StrCat("telltale_", stem, "_total"),
               kCounter,
               base,
               {"node", "sub"},
               absl::StrCat("Of the node: ", subject, ".")};
  rows.fleet = {absl::StrCat("telltale_fleet_", stem, "_total"),
                kCounter,
                base,
                {"group", "sub"},
                absl::StrCat("Sum over all nodes of the group: ", subject, ".")};
  rows.rates = {
      absl::StrCat("telltale_fleet_", stem, "_per_second"),
      kGauge,
      base + "/s",
      {"group", "q"},
      absl::StrCat(
          "Quantiles over the group's reporting nodes, of the rate in their latest epochs, "
          "idle sub-series left out: ",
          subject, ".")};
  return rows;
}

const std::vector<MetricRow>& MetricTable() {
  static const auto& table = *new std::vector<MetricRow>(MakeTable());
  return table;
}

const MetricRow& Metric(std::string_view name) {
  const auto& table = MetricTable();
  const auto found = std::ranges::find(table, name, &MetricRow::name);
  if (found == table.end()) {
    std::fprintf(stderr, "metrics: %s is not in the table\n", std::string(name).c_str());
    std::abort();
  }
  return *found;
}

std::string MetricTableMarkdown() {
  std::string text =
      "# Metrics\n\n"
      "What the collector shows at `/metrics`. Made from the table in `metric_table.cc`; do not "
      "edit.\n\n"
      "Counters are the collector's cumulative figures, kept with the ledger: they survive "
      "restarts and never\n"
      "decrease. Times are in seconds, exact to the nanosecond. Figures with the label `node` "
      "exist for at most\n"
      "`metrics.per_node_limit` nodes, beyond it for those with the most anomalies of late; "
      "figures of the fleet\n"
      "hold all nodes. A node whose label `group` changes takes its history along, which looks "
      "like a reset of\n"
      "the group it leaves. A vital this collector does not know is shown as "
      "`telltale_vitalID_NAME_UNIT_total`\n"
      "(`telltale_vital64_net_drop_segments_total`) and its two `telltale_fleet_` companions.\n\n"
      "| name | type | unit | labels | meaning |\n|---|---|---|---|---|\n";
  for (const MetricRow& row : MetricTable()) {
    absl::StrAppend(&text, "| `", row.name, "` | ", std::string(TypeName(row.type)), " | ",
                    row.unit, " | ", absl::StrJoin(row.labels, ", "), " | ", row.meaning, " |\n");
  }
  return text;
}

}  // namespace telltale::metrics
