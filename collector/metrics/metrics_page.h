// The text of one scrape of /metrics, made piece by piece from a snapshot.
//
// MetricsPage: one scrape, one thread at a time. MetricsExporter: owned by main, thread-safe, a
// page per scrape.

#ifndef TELLTALE_COLLECTOR_METRICS_METRICS_PAGE_H_
#define TELLTALE_COLLECTOR_METRICS_METRICS_PAGE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collector/metrics/figures.h"
#include "collector/metrics/fleet_snapshot.h"
#include "collector/metrics/rate_tracker.h"

namespace telltale::metrics {

inline constexpr char kMetricsContentType[] = "text/plain; version=0.0.4; charset=utf-8";

class MetricsPage {
 public:
  MetricsPage(const MetricSources& sources, size_t per_node_limit, RateTracker& rates);

  // Appends about 32 KiB; false: the page is complete.
  bool Next(std::string& piece);

 private:
  // One family: `items` calls of `write` make its samples.
  struct Family {
    MetricRow row;
    size_t items = 0;
    std::function<void(size_t item, const MetricRow& row, std::string& out)> write;
  };
  using Pairs = std::vector<std::pair<std::string, uint64_t>>;

  // Every family of the table, in its order, each made from what it needs.
  void AddCollector(const MetricSources& sources);
  void AddFleet();
  void AddFilters(const MetricSources& sources);
  void AddIncidents(const MetricSources& sources);
  void AddIngest(const MetricSources& sources);
  void AddProcess(const MetricSources& sources);
  void AddNodes();
  void AddVitals();

  void AddValue(const char* name, std::string value);
  void AddPairs(const char* name, const char* label, Pairs pairs);
  void AddNodeValue(const char* name, std::string (*value)(const NodeFigures& node));

  const VitalDirectory vitals_;
  const FleetSnapshot fleet_;
  std::vector<Family> families_;
  size_t family_ = 0;
  size_t item_ = 0;
};

class MetricsExporter {
 public:
  MetricsExporter(MetricSources sources, size_t per_node_limit)
      : sources_(std::move(sources)), per_node_limit_(per_node_limit) {}

  std::unique_ptr<MetricsPage> Page() {
    return std::make_unique<MetricsPage>(sources_, per_node_limit_, rates_);
  }

 private:
  const MetricSources sources_;
  const size_t per_node_limit_;
  RateTracker rates_;
};

}  // namespace telltale::metrics

#endif  // TELLTALE_COLLECTOR_METRICS_METRICS_PAGE_H_
