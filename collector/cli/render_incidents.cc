#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"
#include "collector/formats/record_text.h"

namespace telltale::cli {
namespace {

template <typename Names>
std::string NamesText(const Names& names, uint64_t count) {
  constexpr size_t kShown = 3;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kShown) break;
    shown.push_back(Escaped(name));
  }
  std::string text = absl::StrJoin(shown, ", ");
  if (count > shown.size()) absl::StrAppend(&text, " and ", count - shown.size(), " more");
  return text;
}

std::string NodesText(const v1::Incident& incident) {
  return NamesText(incident.nodes(), incident.node_count());
}

std::string NodesText(const v1::IncidentSymptom& symptom) {
  std::vector<std::string> names(symptom.more_nodes().begin(), symptom.more_nodes().end());
  names.insert(names.begin(), symptom.node());
  return NamesText(names, symptom.node_count());
}

std::string StateText(const v1::Incident& incident, const View& view) {
  const std::string state = incident.state() == "open" ? Painted("open", Ink::kWarn, view.style)
                                                       : Escaped(incident.state());
  return absl::StrCat(state, incident.silenced() ? ", silenced" : "");
}

std::string SymptomText(const v1::IncidentSymptom& symptom) {
  return absl::StrCat(
      NodesText(symptom), "  ", Escaped(symptom.text()), "  (", Escaped(symptom.filter()),
      symptom.rule() > 0 ? absl::StrCat(", rule ", symptom.rule()) : "",
      symptom.count() > 1 ? absl::StrCat(", ", symptom.count(), " times") : "", ")");
}

// A diagnosis with what speaks for and against it, and what it explains; a symptom is a line.
std::string EntryText(const v1::Incident& incident, int place, const View& view) {
  constexpr char kIndent[] = "                     ";
  const v1::IncidentSymptom& symptom = incident.symptoms(place);
  std::string text = SymptomText(symptom);
  const auto line = [&](const char* what, const std::string& of) {
    if (!of.empty()) absl::StrAppend(&text, "\n", kIndent, what, Escaped(of));
  };
  if (symptom.rule() > 0) {
    line("because: ", symptom.evidence());
    line("against: ", symptom.against());
    line("peers:   ", symptom.peers());
    if (symptom.has_record()) line("record:  ", formats::RecordText(symptom.record()));
    line("next:    ", symptom.next());
  }
  size_t under = 0;
  for (const v1::IncidentSymptom& other : incident.symptoms()) {
    if (other.explained_by() != static_cast<uint32_t>(place) + 1) continue;
    if (++under == 1) absl::StrAppend(&text, "\n", kIndent, "explains:");
    absl::StrAppend(&text, "\n", kIndent, "  ", MomentText(other.first_s(), view.zone), "  ",
                    SymptomText(other));
  }
  return text;
}

// How many of those that are not resolved stand beyond the limit of the list; silenced ones are
// told of apart.
std::string BeyondText(const v1::ListIncidentsAnswer& answer) {
  const auto beyond = [&](const char* state, uint64_t all) {
    const auto shown = static_cast<uint64_t>(
        std::ranges::count_if(answer.incidents(), [&](const v1::Incident& incident) {
          return incident.state() == state && !incident.silenced();
        }));
    return all - std::min(all, shown);
  };
  const uint64_t open = beyond("open", answer.open());
  const uint64_t acknowledged = beyond("acknowledged", answer.acknowledged());
  if (open + acknowledged == 0) return "";
  const uint64_t first = open > 0 ? open : acknowledged;
  std::string text = absl::StrCat(first, first == 1 ? " more is " : " more are ",
                                  open > 0 ? "open" : "acknowledged");
  if (open > 0 && acknowledged > 0) absl::StrAppend(&text, ", ", acknowledged, " acknowledged");
  const bool most = static_cast<uint32_t>(answer.incidents_size()) >= kMostIncidents;
  return absl::StrCat(text, most ? ", beyond the 1,000 that a list has" : "; --limit shows them",
                      "\n");
}

std::string AlertsText(const v1::AlertTarget& target, const View& view) {
  if (target.problem().empty()) return "";
  return absl::StrCat(
      Painted("Alertmanager ", Ink::kWarn, view.style), Escaped(target.url()),
      " is not told of incidents: ", Escaped(target.problem()), " (", target.failures(),
      " posts failed; ",
      target.last_post_s() > 0
          ? absl::StrCat("the last that was taken: ", MomentText(target.last_post_s(), view.zone))
          : std::string("none was taken since the collector's start"),
      ")\n");
}

}  // namespace

std::string RenderIncidents(const v1::ListIncidentsAnswer& answer, const View& view,
                            const v1::AnomaliesAnswer& learning) {
  std::string out;
  if (answer.incidents().empty()) {
    out = absl::StrCat("no incident is open\n", RenderLearning(learning));
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
    out = absl::StrCat(table.Render(view.style), ZoneLine(view), BeyondText(answer));
  }
  const bool left_out = std::ranges::none_of(answer.incidents(), &v1::Incident::silenced);
  if (answer.silenced() > 0 && left_out) {
    absl::StrAppend(&out, answer.silenced(),
                    " more under silences: telltale incidents --silenced\n");
  }
  for (const v1::AlertTarget& target : answer.alertmanagers()) {
    out += AlertsText(target, view);
  }
  if (answer.hints() > 0) {
    const bool one = answer.hints() == 1;
    absl::StrAppend(&out, Count(static_cast<double>(answer.hints())),
                    one ? " thing was" : " things were", " unusual in the last ten minutes and ",
                    one ? "belongs" : "belong",
                    " to no incident: telltale anomalies --from -10min\n");
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
                   ", last news ", MomentText(incident.last_s(), view.zone));
  if (!incident.acknowledged_by().empty()) {
    absl::StrAppend(&out, ", acknowledged ", MomentText(incident.acknowledged_s(), view.zone),
                    " by ", Escaped(incident.acknowledged_by()));
  }
  if (incident.resolved_s() > 0) {
    absl::StrAppend(&out, ", resolved ", MomentText(incident.resolved_s(), view.zone));
  }
  if (incident.merged_into() > 0) {
    absl::StrAppend(&out, "\npart of incident ", incident.merged_into(), ": telltale incidents ",
                    incident.merged_into());
  }
  absl::StrAppend(&out, "\n", ZoneLine(view), "\n");
  // Timeline of what was found and what people said; what a diagnosis explains stands under it.
  std::vector<std::pair<double, std::string>> lines;
  for (int i = 0; i < incident.symptoms_size(); ++i) {
    if (incident.symptoms(i).explained_by() != 0) continue;
    lines.emplace_back(incident.symptoms(i).first_s(), EntryText(incident, i, view));
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

std::string RenderIncidentNews(const v1::Incident& incident, const View& view) {
  std::string out = absl::StrCat(MomentText(incident.last_s(), view.zone), "  incident ",
                                 incident.number(), "  ", StateText(incident, view), "  ",
                                 NodesText(incident), "  ", Escaped(incident.title()));
  if (!incident.notes().empty()) {
    const v1::IncidentNote& note = *incident.notes().rbegin();
    absl::StrAppend(&out, "  (", note.who().empty() ? "" : Escaped(note.who()) + ": ",
                    Escaped(note.text()), ")");
  }
  return out + "\n";
}

std::string RenderSilence(const v1::Silence& silence, const View& view) {
  std::vector<std::string> parts;
  if (silence.incident() > 0) parts.push_back(absl::StrCat("incident ", silence.incident()));
  for (const auto& [what, pattern] : {std::pair("node ", silence.node()),
                                      {"rule ", silence.rule()},
                                      {"process ", silence.process()}}) {
    if (!pattern.empty()) parts.push_back(absl::StrCat(what, Escaped(pattern)));
  }
  return absl::StrCat(Escaped(silence.id()), "  ", absl::StrJoin(parts, ", "), "  until ",
                      MomentText(silence.until_s(), view.zone), ": ", Escaped(silence.reason()),
                      "  (", Escaped(silence.by()), ")");
}

std::string RenderSilences(const v1::ListSilencesAnswer& answer, const View& view) {
  if (answer.silences().empty()) return "no silence is in force\n";
  Table table(
      {{"id"}, {"incident"}, {"node"}, {"rule"}, {"process"}, {"until"}, {"by"}, {"reason"}});
  for (const v1::Silence& silence : answer.silences()) {
    const bool one = silence.incident() > 0;
    const auto any = [one](const std::string& pattern) {
      return pattern.empty() && !one ? std::string("(any)") : Escaped(pattern);
    };
    const std::string until = silence.in_force() ? MomentText(silence.until_s(), view.zone)
                              : silence.ended_s() > 0
                                  ? absl::StrCat("ended ", MomentText(silence.ended_s(), view.zone),
                                                 " by ", Escaped(silence.ended_by()))
                                  : absl::StrCat("over ", MomentText(silence.until_s(), view.zone));
    table.Add({Escaped(silence.id()), one ? absl::StrCat(silence.incident()) : "",
               any(silence.node()), any(silence.rule()), any(silence.process()), until,
               Escaped(silence.by()), Escaped(silence.reason())});
  }
  return absl::StrCat(table.Render(view.style), ZoneLine(view));
}

}  // namespace telltale::cli
