#include "collector/alert/alerts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/formats/record_text.h"

namespace telltale::alert {
namespace {

constexpr int kNodes = 5;

std::string Moment(double seconds) {
  return absl::FormatTime(absl::RFC3339_sec,
                          absl::FromUnixMillis(static_cast<int64_t>(seconds * 1e3)),
                          absl::UTCTimeZone());
}

std::string Description(const v1::Incident& incident) {
  std::string nodes;
  for (int i = 0; i < std::min(incident.nodes_size(), kNodes); ++i) {
    absl::StrAppend(&nodes, i == 0 ? "" : ", ", incident.nodes(i));
  }
  if (incident.node_count() > kNodes) {
    absl::StrAppend(&nodes, " and ", incident.node_count() - kNodes, " more");
  }
  std::string text = absl::StrCat("On ", nodes, "; ", incident.anomalies(),
                                  " anomalies, last news ", Moment(incident.last_s()), ".");
  const auto told = [&](const char* what, const std::string& of) {
    if (!of.empty()) absl::StrAppend(&text, " ", what, ": ", of, ".");
  };
  // What the title is about: its diagnosis, else what came first.
  for (const v1::IncidentSymptom& symptom : incident.symptoms()) {
    if (symptom.text() != incident.title()) continue;
    told("Because", symptom.evidence());
    told("Against", symptom.against());
    if (symptom.has_record()) {
      told(absl::StrCat("Record of rule ", symptom.rule()).c_str(),
           formats::RecordText(symptom.record()));
    }
    break;
  }
  for (int i = incident.notes_size() - 1; i >= 0; --i) {
    if (incident.notes(i).who().empty()) continue;
    told(incident.notes(i).who().c_str(), incident.notes(i).text());
    break;
  }
  return absl::StrCat(text, " telltale incidents ", incident.number());
}

}  // namespace

std::string AlertsJson(std::span<const v1::Incident> incidents, const AlertWords& words,
                       uint64_t now_ns) {
  nlohmann::json alerts = nlohmann::json::array();
  for (const v1::Incident& incident : incidents) {
    nlohmann::json labels = {{"alertname", "TelltaleIncident"},
                             {"collector", words.store},
                             {"incident", absl::StrCat(incident.number())},
                             {"severity", "warning"}};
    if (!incident.symptoms().empty()) {
      const v1::IncidentSymptom& first = incident.symptoms(0);
      const std::pair<const char*, std::string> more[] = {
          {"node", first.node()},
          {"filter", first.filter()},
          {"vital", first.vital()},
          {"process", first.program()},
          {"rule", first.rule() == 0 ? "" : absl::StrCat(first.rule())}};
      for (const auto& [name, value] : more) {
        if (!value.empty()) labels[name] = value;
      }
    }
    nlohmann::json alert = {
        {"labels", labels},
        {"annotations",
         {{"summary", incident.title()},
          {"description", Description(incident)},
          {"state", incident.state()}}},
        {"startsAt", Moment(incident.start_s())},
        {"generatorURL", absl::StrCat(words.url, "/incidents?incident=", incident.number())}};
    // Alertmanager refuses what ends before it starts, as the clocks of nodes may have it.
    if (incident.state() == "resolved") {
      alert["endsAt"] = Moment(std::max(incident.resolved_s(), incident.start_s()));
    } else if (incident.silenced()) {
      alert["endsAt"] = Moment(std::max(static_cast<double>(now_ns) / 1e9, incident.start_s()));
    }
    alerts.push_back(std::move(alert));
  }
  // Names of nodes' programs may be any bytes.
  return alerts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace telltale::alert
