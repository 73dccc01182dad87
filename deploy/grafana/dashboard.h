// A Grafana dashboard as typed values, and the JSON Grafana imports (schema version 39, Grafana 10
// and later). Values and free functions; any thread.

#ifndef TELLTALE_DEPLOY_GRAFANA_DASHBOARD_H_
#define TELLTALE_DEPLOY_GRAFANA_DASHBOARD_H_

#include <string>
#include <vector>

namespace telltale::grafana {

enum class PanelKind { kTimeSeries, kStat };

struct Target {
  std::string expression;
  std::string legend;  // "{{node}}"
};

struct Panel {
  std::string title;
  std::string about;  // what it tells and what to do
  PanelKind kind = PanelKind::kTimeSeries;
  std::string unit = "short";  // of Grafana: "s", "Bps", "percentunit" ...
  std::vector<Target> targets;
  int width = 8, height = 8;  // of 24 columns
  bool stacked = false;
};

struct Row {
  std::string title;
  std::vector<Panel> panels;
};

// What one chooses above the panels.
struct Variable {
  std::string name, label;
  std::string query;                                         // label_values(metric, label)
  std::vector<std::pair<std::string, std::string>> choices;  // instead: shown text, value
  bool multiple = false;                                     // several, and all
};

struct Dashboard {
  std::string uid;  // stable: links use it
  std::string title;
  std::string about;
  std::vector<Variable> variables;
  std::vector<Row> rows;
};

std::string ToJson(const Dashboard& dashboard);

// Fleet, node, vital, collector.
std::vector<Dashboard> AllDashboards();

}  // namespace telltale::grafana

#endif  // TELLTALE_DEPLOY_GRAFANA_DASHBOARD_H_
