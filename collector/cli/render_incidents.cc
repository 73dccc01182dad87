#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

std::string NodesText(const v1::Incident& incident) {
  constexpr int kShown = 3;
  std::vector<std::string> names;
  for (int i = 0; i < std::min(kShown, incident.nodes_size()); ++i) {
    names.push_back(Escaped(incident.nodes(i)));
  }
  std::string text = absl::StrJoin(names, ", ");
  if (incident.node_count() > names.size()) {
    absl::StrAppend(&text, " and ", incident.node_count() - names.size(), " more");
  }
  return text;
}

std::string StateText(const v1::Incident& incident, const View& view) {
  return incident.state() == "open" ? Painted("open", Ink::kWarn, view.style)
                                    : Escaped(incident.state());
}

}  // namespace

std::string RenderIncidents(const v1::ListIncidentsAnswer& answer, const View& view) {
  std::string out;
  if (answer.incidents().empty()) {
    out = "no incident is open\n";
  } else {
    Table table({{"", Table::Align::kRight},
                 {"state"},
                 {"since"},
                 {"last news"},
                 {"nodes"},
                 {"anomalies", Table::Align::kRight},
                 {"what"}});
    for (const v1::Incident& incident : answer.incidents()) {
      table.Add({absl::StrCat(incident.number()), StateText(incident, view),
                 MomentText(incident.start_s(), view.zone),
                 MomentText(incident.last_s(), view.zone), NodesText(incident),
                 Count(static_cast<double>(incident.anomalies())), Escaped(incident.title())});
    }
    out = table.Render(view.style);
  }
  if (answer.missed_anomalies() > 0) {
    absl::StrAppend(&out, Count(static_cast<double>(answer.missed_anomalies())),
                    " anomalies are in no incident: they had left the log before it was read\n");
  }
  return out;
}

std::string RenderIncident(const v1::Incident& incident, const View& view) {
  std::string out =
      absl::StrCat("incident ", incident.number(), ", ", StateText(incident, view), ": ",
                   Painted(Escaped(incident.title()), Ink::kBold, view.style), "\non ",
                   NodesText(incident), ", since ", MomentText(incident.start_s(), view.zone),
                   ", last news ", MomentText(incident.last_s(), view.zone), "\n\n");
  // Timeline of what was found and what people said.
  std::vector<std::pair<double, std::string>> lines;
  for (const v1::IncidentSymptom& symptom : incident.symptoms()) {
    lines.emplace_back(
        symptom.first_s(),
        absl::StrCat(Escaped(symptom.node()), "  ", Escaped(symptom.text()), "  (",
                     Escaped(symptom.filter()),
                     symptom.count() > 1 ? absl::StrCat(", ", symptom.count(), " times") : "",
                     ")"));
  }
  for (const v1::IncidentNote& note : incident.notes()) {
    lines.emplace_back(
        note.time_s(),
        absl::StrCat(note.who().empty() ? "" : Escaped(note.who()) + ": ", Escaped(note.text())));
  }
  std::ranges::stable_sort(lines, {}, [](const auto& line) { return line.first; });
  for (const auto& [time_s, text] : lines) {
    absl::StrAppend(&out, MomentText(time_s, view.zone), "  ", text, "\n");
  }
  if (incident.symptoms_left_out() > 0) {
    absl::StrAppend(&out, "and ", incident.symptoms_left_out(), " more symptoms\n");
  }
  return out;
}

}  // namespace telltale::cli
