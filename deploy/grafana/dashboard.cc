#include "deploy/grafana/dashboard.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace telltale::grafana {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kColumns = 24;
// Once an epoch the counters move: $__rate_interval becomes at least four of these.
constexpr const char* kStep = "1m";

Json Source() { return {{"type", "prometheus"}, {"uid", "${datasource}"}}; }

Json TargetJson(const Target& target, size_t index) {
  return {{"datasource", Source()},
          {"expr", target.expression},
          {"legendFormat", target.legend},
          {"refId", std::string(1, static_cast<char>('A' + index))}};
}

Json PanelJson(const Panel& panel, int id, int x, int y) {
  const bool stat = panel.kind == PanelKind::kStat;
  Json defaults = {{"unit", panel.unit}};
  if (!stat) {
    defaults["min"] = 0;
    defaults["custom"] = {{"fillOpacity", panel.stacked ? 60 : 8},
                          {"stacking", {{"mode", panel.stacked ? "normal" : "none"}}}};
  }
  Json json = {{"id", id},
               {"title", panel.title},
               {"description", panel.about},
               {"type", stat ? "stat" : "timeseries"},
               {"datasource", Source()},
               {"gridPos", {{"x", x}, {"y", y}, {"w", panel.width}, {"h", panel.height}}},
               {"interval", kStep},
               {"fieldConfig", {{"defaults", defaults}, {"overrides", Json::array()}}},
               {"targets", Json::array()}};
  if (stat) {
    json["options"] = {{"reduceOptions", {{"calcs", {"lastNotNull"}}}}, {"colorMode", "none"}};
  } else {
    json["options"] = {{"tooltip", {{"mode", "multi"}, {"sort", "desc"}}},
                       {"legend", {{"displayMode", "list"}, {"placement", "bottom"}}}};
  }
  for (size_t i = 0; i < panel.targets.size(); ++i) {
    json["targets"].push_back(TargetJson(panel.targets[i], i));
  }
  return json;
}

Json VariableJson(const Variable& variable) {
  Json json = {{"name", variable.name},
               {"label", variable.label},
               {"multi", variable.multiple},
               {"includeAll", variable.multiple}};
  if (variable.choices.empty()) {
    json["type"] = "query";
    json["datasource"] = Source();
    json["query"] = {{"query", variable.query}, {"refId", variable.name}};
    json["refresh"] = 2;
    json["sort"] = 1;
    if (variable.multiple) json["allValue"] = ".*";
    return json;
  }
  json["type"] = "custom";
  std::string list;
  json["options"] = Json::array();
  for (const auto& [text, value] : variable.choices) {
    list += (list.empty() ? "" : ", ") + text + " : " + value;
    json["options"].push_back(
        {{"text", text}, {"value", value}, {"selected", list == text + " : " + value}});
  }
  json["query"] = list;
  json["current"] = json["options"][0];
  return json;
}

Json Variables(const Dashboard& dashboard) {
  Json list = Json::array();
  list.push_back({{"name", "datasource"},
                  {"label", "Prometheus"},
                  {"type", "datasource"},
                  {"query", "prometheus"}});
  for (const Variable& variable : dashboard.variables) list.push_back(VariableJson(variable));
  return list;
}

}  // namespace

std::string ToJson(const Dashboard& dashboard) {
  Json panels = Json::array();
  int id = 0, y = 0;
  for (const Row& row : dashboard.rows) {
    panels.push_back({{"id", ++id},
                      {"title", row.title},
                      {"type", "row"},
                      {"collapsed", false},
                      {"gridPos", {{"x", 0}, {"y", y}, {"w", kColumns}, {"h", 1}}},
                      {"panels", Json::array()}});
    ++y;
    int x = 0, tallest = 0;
    for (const Panel& panel : row.panels) {
      if (x + panel.width > kColumns) {
        x = 0;
        y += std::exchange(tallest, 0);
      }
      panels.push_back(PanelJson(panel, ++id, x, y));
      x += panel.width;
      tallest = std::max(tallest, panel.height);
    }
    y += tallest;
  }
  const Json json = {{"uid", dashboard.uid},
                     {"title", dashboard.title},
                     {"description", dashboard.about},
                     {"tags", {"telltale"}},
                     {"schemaVersion", 39},
                     {"editable", true},
                     {"graphTooltip", 1},
                     {"refresh", "1m"},
                     {"time", {{"from", "now-3h"}, {"to", "now"}}},
                     {"timezone", ""},
                     {"links",
                      {{{"type", "dashboards"},
                        {"tags", {"telltale"}},
                        {"title", "Telltale"},
                        {"asDropdown", true},
                        {"includeVars", true},
                        {"keepTime", true}}}},
                     {"templating", {{"list", Variables(dashboard)}}},
                     {"panels", panels}};
  return json.dump(2) + "\n";
}

}  // namespace telltale::grafana
