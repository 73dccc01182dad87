// The one table of what /metrics shows: name, type, unit, labels, meaning. The page is written from
// it, and METRICS.md is its printed form (a test compares both).
//
// Constant data: any thread.

#ifndef TELLTALE_COLLECTOR_METRICS_METRIC_TABLE_H_
#define TELLTALE_COLLECTOR_METRICS_METRIC_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sketch/vitals.h"

namespace telltale::metrics {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

struct MetricRow {
  std::string name;
  MetricType type = MetricType::kGauge;
  std::string unit;  // base unit: seconds, bytes, pages ...
  std::vector<std::string> labels;
  std::string meaning;  // one sentence
};

// All rows in the order of the page.
const std::vector<MetricRow>& MetricTable();

// The row of this name. The name must be in the table.
const MetricRow& Metric(std::string_view name);

// The three rows that each vital has. `name` and `unit` as in its descriptor; a name a collector
// has never heard of becomes a metric name by the same rule, with what is not [a-z0-9_] replaced by
// '_'.
struct VitalMetrics {
  MetricRow node;   // telltale_cpu_seconds_total{node,sub}
  MetricRow fleet;  // telltale_fleet_cpu_seconds_total{group,sub}
  MetricRow rates;  // telltale_fleet_cpu_seconds_per_second{group,q}
};
VitalMetrics MetricsOfVital(uint8_t id, std::string_view name, sketch::Unit unit,
                            std::string_view about);

// METRICS.md.
std::string MetricTableMarkdown();

}  // namespace telltale::metrics

#endif  // TELLTALE_COLLECTOR_METRICS_METRIC_TABLE_H_
