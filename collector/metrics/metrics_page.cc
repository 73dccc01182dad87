#include "collector/metrics/metrics_page.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collector/metrics/process_figures.h"

namespace telltale::metrics {
namespace {

constexpr size_t kPieceBytes = 32 * 1024;
constexpr int kNanoDigits = 9;

// "LOSS_REASON_RING_FULL" -> "ring_full".
std::string LowerName(std::string name, size_t prefix_bytes) {
  name.erase(0, prefix_bytes);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

std::string ReasonName(uint32_t reason) {
  const int number = static_cast<int>(reason);
  if (!v1::LossReason_IsValid(number)) return absl::StrCat("reason_", reason);
  return LowerName(v1::LossReason_Name(number), sizeof("LOSS_REASON_") - 1);
}

std::string EndName(uint32_t end) {
  const int number = static_cast<int>(end);
  if (!v1::StackEnd_IsValid(number)) return absl::StrCat("end_", end);
  return LowerName(v1::StackEnd_Name(number), sizeof("STACK_END_") - 1);
}

// "syscall", "switch" ...; a part of a newer agent by its number.
std::string PartName(size_t part) {
  const int number = static_cast<int>(part);
  if (!v1::SensorPart_IsValid(number)) return absl::StrCat("part_", part);
  return LowerName(v1::SensorPart_Name(number), sizeof("SENSOR_PART_") - 1);
}

std::string OutcomeName(uint32_t outcome) {
  const int number = static_cast<int>(outcome);
  if (!v1::NameOutcome_IsValid(number)) return absl::StrCat("outcome_", outcome);
  return LowerName(v1::NameOutcome_Name(number), sizeof("NAME_OUTCOME_") - 1);
}

std::string StateName(size_t state) {
  return LowerName(v1::NodeState_Name(static_cast<int>(state)), sizeof("NODE_STATE_") - 1);
}

std::string VitalStateName(v1::VitalState state) {
  return LowerName(v1::VitalState_Name(state), sizeof("VITAL_STATE_") - 1);
}

// A weight in the vital's base unit, exact.
std::string Weight(sketch::Unit unit, Wide weight) {
  return unit == sketch::Unit::kNanoseconds ? Scaled(weight, kNanoDigits) : Integer(weight);
}

}  // namespace

MetricsPage::MetricsPage(const MetricSources& sources, size_t per_node_limit, RateTracker& rates)
    : vitals_(sources.local_vitals ? sources.local_vitals() : std::vector<VitalNames>()),
      fleet_(TakeSnapshot(sources, vitals_, per_node_limit, rates)) {
  AddCollector(sources);
  AddFleet();
  AddFilters(sources);
  AddIncidents(sources);
  AddIngest(sources);
  AddProcess(sources);
  AddNodes();
  AddVitals();
}

bool MetricsPage::Next(std::string& piece) {
  const size_t full = piece.size() + kPieceBytes;
  while (family_ < families_.size() && piece.size() < full) {
    const Family& family = families_[family_];
    if (item_ == 0) WriteFamily(family.row, piece);
    if (item_ < family.items) family.write(item_++, family.row, piece);
    if (item_ == family.items) {
      ++family_;
      item_ = 0;
    }
  }
  return family_ < families_.size();
}

void MetricsPage::AddValue(const char* name, std::string value) {
  families_.push_back(
      {Metric(name), 1, [value = std::move(value)](size_t, const MetricRow& row, std::string& out) {
         WriteSample(row, {}, value, out);
       }});
}

void MetricsPage::AddPairs(const char* name, const char* label, Pairs pairs) {
  const size_t items = pairs.size();
  families_.push_back(
      {Metric(name), items,
       [label, pairs = std::move(pairs)](size_t item, const MetricRow& row, std::string& out) {
         const auto& [text, value] = pairs[item];
         WriteSample(row, {{label, text}}, Integer(value), out);
       }});
}

void MetricsPage::AddNodeValue(const char* name, std::string (*value)(const NodeFigures& node)) {
  families_.push_back({Metric(name), fleet_.shown.size(),
                       [this, value](size_t item, const MetricRow& row, std::string& out) {
                         const NodeFigures& node = fleet_.shown[item];
                         WriteSample(row, {{"node", node.name}}, value(node), out);
                       }});
}

void MetricsPage::AddCollector(const MetricSources& sources) {
  families_.push_back({Metric("telltale_build_info"), 1,
                       [version = sources.version](size_t, const MetricRow& row, std::string& out) {
                         WriteSample(row, {{"version", version}}, "1", out);
                       }});
}

void MetricsPage::AddFleet() {
  families_.push_back(
      {Metric("telltale_fleet_nodes"), 1, [this](size_t, const MetricRow& row, std::string& out) {
         for (const auto& [name, group] : fleet_.groups) {
           for (size_t state = 1; state < kNodeStates; ++state) {
             WriteSample(row, {{"group", name}, {"state", StateName(state)}},
                         Integer(group.nodes[state]), out);
           }
         }
       }});
  for (const auto& [metric, count] :
       {std::pair("telltale_fleet_nodes_degraded", &GroupFigures::degraded),
        {"telltale_fleet_agents_turned_down", &GroupFigures::turned_down},
        {"telltale_fleet_agents_over_budget", &GroupFigures::over_budget}}) {
    families_.push_back(
        {Metric(metric), 1, [this, count = count](size_t, const MetricRow& row, std::string& out) {
           for (const auto& [name, group] : fleet_.groups) {
             WriteSample(row, {{"group", name}}, Integer(group.*count), out);
           }
         }});
  }
  AddValue("telltale_nodes_without_metrics", Integer(fleet_.nodes_not_shown));
  AddValue("telltale_epochs_received_total", Integer(fleet_.epochs));
  AddValue("telltale_epochs_missing", Integer(fleet_.epochs_missing));
  AddValue("telltale_epochs_too_late_total", Integer(fleet_.epochs_too_late));
  AddValue("telltale_epochs_apart_total", Integer(fleet_.epochs_apart));
  AddValue("telltale_epochs_adopted_total", Integer(fleet_.epochs_adopted));
  families_.push_back({Metric("telltale_events_lost_total"), 1,
                       [this](size_t, const MetricRow& row, std::string& out) {
                         for (const auto& [reason, events] : fleet_.losses) {
                           WriteSample(row, {{"reason", ReasonName(reason)}}, Integer(events), out);
                         }
                       }});
}

void MetricsPage::AddFilters(const MetricSources& sources) {
  const std::vector<FilterFigures> filters =
      sources.filters ? sources.filters() : std::vector<FilterFigures>();
  families_.push_back(
      {Metric("telltale_anomalies_total"), filters.size(),
       [filters](size_t item, const MetricRow& row, std::string& out) {
         const FilterFigures& filter = filters[item];
         for (const auto& [vital, count] : filter.anomalies) {
           WriteSample(row, {{"vital", vital}, {"filter", filter.filter}}, Integer(count), out);
         }
       }});
  families_.push_back(
      {Metric("telltale_filter_lag_seconds"), filters.size(),
       [filters](size_t item, const MetricRow& row, std::string& out) {
         WriteSample(row, {{"filter", filters[item].filter}}, Real(filters[item].lag_s), out);
       }});
  families_.push_back(
      {Metric("telltale_filter_epochs_skipped_total"), filters.size(),
       [filters](size_t item, const MetricRow& row, std::string& out) {
         WriteSample(row, {{"filter", filters[item].filter}}, Integer(filters[item].skipped), out);
       }});
  families_.push_back({Metric("telltale_filter_epochs_unreadable_total"), filters.size(),
                       [filters](size_t item, const MetricRow& row, std::string& out) {
                         WriteSample(row, {{"filter", filters[item].filter}},
                                     Integer(filters[item].unreadable), out);
                       }});
  families_.push_back(
      {Metric("telltale_filter_outputs_dropped_total"), filters.size(),
       [filters](size_t item, const MetricRow& row, std::string& out) {
         WriteSample(row, {{"filter", filters[item].filter}}, Integer(filters[item].dropped), out);
       }});
  const auto add_user = [&](const char* metric, std::string (*value)(const UserFilterFigures&)) {
    families_.push_back({Metric(metric), filters.size(),
                         [filters, value](size_t item, const MetricRow& row, std::string& out) {
                           const FilterFigures& filter = filters[item];
                           if (!filter.user.has_value()) return;
                           WriteSample(row, {{"filter", filter.filter}}, value(*filter.user), out);
                         }});
  };
  add_user("telltale_filter_disabled",
           [](const UserFilterFigures& user) { return Integer(user.disabled ? 1 : 0); });
  add_user("telltale_filter_failures_total",
           [](const UserFilterFigures& user) { return Integer(user.failures); });
  add_user("telltale_filter_cpu_seconds_total",
           [](const UserFilterFigures& user) { return Real(user.cpu_s); });
  add_user("telltale_filter_memory_bytes",
           [](const UserFilterFigures& user) { return Integer(user.memory_bytes); });
}

void MetricsPage::AddIncidents(const MetricSources& sources) {
  const bool known = sources.incidents != nullptr;
  IncidentFigures figures = known ? sources.incidents() : IncidentFigures();
  for (const auto& [name, value] : {std::pair("telltale_incidents_open", figures.open),
                                    {"telltale_incidents_acknowledged", figures.acknowledged},
                                    {"telltale_incidents_silenced", figures.silenced}}) {
    families_.push_back({Metric(name), known ? 1U : 0U,
                         [value = value](size_t, const MetricRow& row, std::string& out) {
                           WriteSample(row, {}, Integer(value), out);
                         }});
  }
  auto targets = std::move(figures.alertmanagers);
  const size_t items = targets.size();
  families_.push_back(
      {Metric("telltale_alertmanager_posts_total"), items,
       [targets = std::move(targets)](size_t item, const MetricRow& row, std::string& out) {
         const auto& target = targets[item];
         WriteSample(row, {{"url", target.url}, {"result", "ok"}}, Integer(target.posts), out);
         WriteSample(row, {{"url", target.url}, {"result", "failed"}}, Integer(target.failures),
                     out);
       }});
}

void MetricsPage::AddIngest(const MetricSources& sources) {
  IngestFigures ingest = sources.ingest ? sources.ingest() : IngestFigures();
  const size_t buckets = ingest.ack_seconds.counts.empty() ? 0 : 1;
  families_.push_back({Metric("telltale_ingest_ack_seconds"), buckets,
                       [ack = ingest.ack_seconds](size_t, const MetricRow& row, std::string& out) {
                         uint64_t sum = 0;
                         for (size_t i = 0; i < ack.counts.size(); ++i) {
                           sum += ack.counts[i];
                           const std::string bound =
                               i < ack.upper.size() ? Real(ack.upper[i]) : "+Inf";
                           WriteSample(row, "_bucket", {{"le", bound}}, Integer(sum), out);
                         }
                         WriteSample(row, "_sum", {}, Real(ack.sum), out);
                         WriteSample(row, "_count", {}, Integer(sum), out);
                       }});
  AddValue("telltale_ingest_spread_seconds", Integer(ingest.spread_s));
  AddPairs("telltale_ingest_refused_total", "reason", std::move(ingest.refused));
  AddValue("telltale_epochs_implausible_total", Integer(ingest.implausible));
  AddValue("telltale_clone_conflicts_total", Integer(ingest.clone_conflicts));
  AddValue("telltale_clone_decisions_total", Integer(ingest.clone_decisions));
  StoreFigures store = sources.store ? sources.store() : StoreFigures();
  AddPairs("telltale_store_bytes", "tier", std::move(store.bytes));
  const std::optional<DiskFigures> disk = sources.disk ? sources.disk() : std::nullopt;
  const auto if_known = [&](const char* name, const std::optional<uint64_t>& value) {
    families_.push_back(
        {Metric(name), value ? size_t{1} : size_t{0},
         [text = Integer(value.value_or(0))](size_t, const MetricRow& row, std::string& out) {
           WriteSample(row, {}, text, out);
         }});
  };
  if_known("telltale_store_disk_free_bytes", disk ? std::optional(disk->free_bytes) : std::nullopt);
  if_known("telltale_store_disk_size_bytes", disk ? std::optional(disk->size_bytes) : std::nullopt);
  AddPairs("telltale_certificate_end_seconds", "of",
           sources.certificate_ends ? sources.certificate_ends() : Pairs());
  if_known("telltale_tls_crl_next_update_timestamp_seconds",
           sources.crl_next_update ? sources.crl_next_update() : std::nullopt);
  AddValue("telltale_dirty_windows", Integer(store.dirty_windows));
  AddValue("telltale_rollup_errors_total", Integer(ingest.rollup_errors));
  AddValue("telltale_rollup_windows_expired_total", Integer(ingest.windows_expired));
  AddPairs("telltale_store_unreadable_rows_total", "family", std::move(store.unreadable));
  AddValue("telltale_names_contradicted_total", Integer(store.names_contradicted));
  AddValue("telltale_store_writable",
           Integer(!sources.store_writable || sources.store_writable() ? 1 : 0));
  AddValue("telltale_store_maintenance_failures_total",
           Integer(sources.maintenance_failures ? sources.maintenance_failures() : 0));
  const AnswerCacheFigures cache =
      sources.answer_cache ? sources.answer_cache() : AnswerCacheFigures();
  AddPairs("telltale_answer_cache_lookups_total", "result",
           {{"hit", cache.hits}, {"miss", cache.misses}});
  AddValue("telltale_answer_cache_evictions_total", Integer(cache.evictions));
  AddValue("telltale_answer_cache_bytes", Integer(cache.bytes));
  GrpcFigures grpc = sources.grpc ? sources.grpc() : GrpcFigures();
  AddValue("telltale_grpc_connections", Integer(grpc.connections));
  AddValue("telltale_grpc_connections_waiting", Integer(grpc.waiting));
  AddPairs("telltale_grpc_refused_total", "reason", std::move(grpc.refused));
  EnrollFigures enroll = sources.enroll ? sources.enroll() : EnrollFigures();
  AddPairs("telltale_enrolments_total", "outcome", std::move(enroll.outcomes));
  AddValue("telltale_enrolments_waiting", Integer(enroll.waiting));
  HttpFigures http = sources.http ? sources.http() : HttpFigures();
  AddValue("telltale_http_connections", Integer(http.connections));
  AddPairs("telltale_http_answers_total", "class", std::move(http.answers));
  AddPairs("telltale_http_refused_total", "reason", std::move(http.refused));
}

void MetricsPage::AddProcess(const MetricSources& sources) {
  const auto process = ReadProcess(sources.process_dir);
  const auto add = [&](const char* name, auto value) {
    // Without /proc the families stay, without samples: no figure is better than a false zero.
    families_.push_back(
        {Metric(name), process.ok() ? size_t{1} : size_t{0},
         [text = process.ok() ? value() : std::string()](
             size_t, const MetricRow& row, std::string& out) { WriteSample(row, {}, text, out); }});
  };
  add("process_cpu_seconds_total", [&] {
    return Real(static_cast<double>(process->cpu_ticks) /
                static_cast<double>(process->ticks_per_second));
  });
  add("process_resident_memory_bytes", [&] { return Integer(process->resident_bytes); });
  add("process_virtual_memory_bytes", [&] { return Integer(process->virtual_bytes); });
  add("process_open_fds", [&] { return Integer(process->open_files); });
  add("process_max_fds", [&] { return Integer(process->max_files); });
  add("process_start_time_seconds", [&] { return Real(process->start_s); });
}

void MetricsPage::AddNodes() {
  AddNodeValue("telltale_node_reporting", [](const NodeFigures& node) {
    return std::string(node.state == v1::NODE_STATE_REPORTING ? "1" : "0");
  });
  AddNodeValue("telltale_node_last_epoch_seconds",
               [](const NodeFigures& node) { return Scaled(node.last_epoch_ns, kNanoDigits); });
  AddNodeValue("telltale_node_epochs_missing",
               [](const NodeFigures& node) { return Integer(node.epochs_missing); });
  families_.push_back({Metric("telltale_node_events_lost_total"), fleet_.shown.size(),
                       [this](size_t item, const MetricRow& row, std::string& out) {
                         const NodeFigures& node = fleet_.shown[item];
                         for (const auto& [reason, events] : node.losses) {
                           WriteSample(row, {{"node", node.name}, {"reason", ReasonName(reason)}},
                                       Integer(events), out);
                         }
                       }});
  families_.push_back(
      {Metric("telltale_node_user_stacks_total"), fleet_.shown.size(),
       [this](size_t item, const MetricRow& row, std::string& out) {
         const NodeFigures& node = fleet_.shown[item];
         for (const auto& [end, samples] : node.user_stacks) {
           WriteSample(row, {{"node", node.name}, {"end", EndName(end)}}, Integer(samples), out);
         }
       }});
  families_.push_back({Metric("telltale_node_user_frames_total"), fleet_.shown.size(),
                       [this](size_t item, const MetricRow& row, std::string& out) {
                         const NodeFigures& node = fleet_.shown[item];
                         for (const auto& [outcome, frames] : node.user_frames) {
                           WriteSample(row, {{"node", node.name}, {"name", OutcomeName(outcome)}},
                                       Integer(frames), out);
                         }
                       }});
  AddNodeValue("telltale_agent_cpu_seconds_total",
               [](const NodeFigures& node) { return Scaled(node.agent_cpu_ns, kNanoDigits); });
  families_.push_back({Metric("telltale_agent_part_cpu_seconds_total"), fleet_.shown.size(),
                       [this](size_t item, const MetricRow& row, std::string& out) {
                         const NodeFigures& node = fleet_.shown[item];
                         for (size_t part = 0; part < node.part_cpu_ns.size(); ++part) {
                           WriteSample(row, {{"node", node.name}, {"part", PartName(part)}},
                                       Scaled(node.part_cpu_ns[part], kNanoDigits), out);
                         }
                       }});
  families_.push_back({Metric("telltale_agent_part_level"), fleet_.shown.size(),
                       [this](size_t item, const MetricRow& row, std::string& out) {
                         const NodeFigures& node = fleet_.shown[item];
                         for (size_t part = 0; part < node.part_level.size(); ++part) {
                           WriteSample(row, {{"node", node.name}, {"part", PartName(part)}},
                                       Integer(node.part_level[part]), out);
                         }
                       }});
  families_.push_back(
      {Metric("telltale_vital_state"), fleet_.shown.size(),
       [this](size_t item, const MetricRow& row, std::string& out) {
         const NodeFigures& node = fleet_.shown[item];
         for (const auto& [id, state] : node.vital_states) {
           const VitalNames* names = vitals_.Find(static_cast<uint8_t>(id));
           const std::string vital = names != nullptr ? names->name : absl::StrCat("vital", id);
           WriteSample(row,
                       {{"node", node.name}, {"vital", vital}, {"state", VitalStateName(state)}},
                       "1", out);
         }
       }});
}

void MetricsPage::AddVitals() {
  for (const auto& [id, names] : vitals_.all()) {
    const VitalMetrics rows = MetricsOfVital(id, names.name, names.unit, names.about);
    const sketch::Unit unit = names.unit;
    families_.push_back(
        {rows.fleet, 1, [this, unit, vital = id](size_t, const MetricRow& row, std::string& out) {
           for (const auto& [name, group] : fleet_.groups) {
             for (auto it = group.weight.lower_bound({vital, 0});
                  it != group.weight.end() && it->first.first == vital; ++it) {
               WriteSample(row,
                           {{"group", name}, {"sub", vitals_.SubName(vital, it->first.second)}},
                           Weight(unit, it->second), out);
             }
           }
         }});
    families_.push_back(
        {rows.rates, 1, [this, unit, vital = id](size_t, const MetricRow& row, std::string& out) {
           const double base = unit == sketch::Unit::kNanoseconds ? 1e9 : 1;
           for (const auto& [name, group] : fleet_.groups) {
             const auto rates = group.rates.find(vital);
             if (rates == group.rates.end()) continue;
             for (const double q : {0.5, 0.9, 0.99, 1.0}) {
               WriteSample(row, {{"group", name}, {"q", Real(q)}},
                           Real(Quantile(rates->second, q) / base), out);
             }
           }
         }});
    families_.push_back(
        {rows.node, fleet_.shown.size(),
         [this, unit, vital = id](size_t item, const MetricRow& row, std::string& out) {
           const NodeFigures& node = fleet_.shown[item];
           for (const SubFigure& sub : node.subs) {
             if (sub.vital != vital) continue;
             WriteSample(row, {{"node", node.name}, {"sub", vitals_.SubName(vital, sub.sub)}},
                         Weight(unit, sub.weight), out);
           }
         }});
  }
}

}  // namespace telltale::metrics
