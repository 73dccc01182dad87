// Prometheus queries over Telltale's metrics. Names and labels are looked up in the metric table
// while the query is made, so a misspelt one ends the program instead of showing an empty panel.
// Values; any thread.

#ifndef TELLTALE_DEPLOY_GRAFANA_PROMQL_H_
#define TELLTALE_DEPLOY_GRAFANA_PROMQL_H_

#include <string>
#include <string_view>
#include <vector>

#include "collector/metrics/metric_table.h"

namespace telltale::grafana {

class Query {
 public:
  // A series of the table; `suffix` for the parts of a histogram: "_bucket", "_sum", "_count".
  explicit Query(const metrics::MetricRow& row, std::string_view suffix = "");
  explicit Query(std::string_view metric, std::string_view suffix = "")
      : Query(metrics::Metric(metric), suffix) {}

  // Only series whose label is so, e.g. With("node", "=~", "$node").
  Query With(std::string_view label, std::string_view relation, std::string_view value) const;
  // Per second, of a counter. The window is $__rate_interval: with a panel interval of an epoch it
  // is at least four epochs, and a counter that moves once an epoch needs more than one.
  Query Rate() const;
  Query SumBy(const std::vector<std::string>& labels) const;
  Query MaxBy(const std::vector<std::string>& labels) const;
  std::string text() const;

 private:
  void CheckLabel(std::string_view label) const;
  Query Around(const std::string& before, const std::string& behind) const;

  const metrics::MetricRow* row_;
  std::string name_;
  std::vector<std::string> selectors_;
  std::string before_, behind_;
  bool histogram_ = false;
};

}  // namespace telltale::grafana

#endif  // TELLTALE_DEPLOY_GRAFANA_PROMQL_H_
