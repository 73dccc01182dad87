#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "collector/cli/dig_on.h"
#include "collector/cli/render.h"
#include "collector/cli/render_investigation.h"
#include "collector/cli/time_text.h"
#include "collector/formats/record_text.h"

namespace telltale::cli {
namespace {

constexpr size_t kFrames = 6;
constexpr size_t kNodesNamed = 3;
constexpr const char* kIndent = "   ";

std::string Title(const std::string& text, const View& view) {
  return absl::StrCat("\n", Painted(text, Ink::kBold, view.style), "\n");
}

// Text in lines of the terminal's width, each begun with the indent.
std::string Paragraph(const std::string& text, const std::string& indent, const View& view) {
  constexpr size_t kUsualColumns = 100;
  const size_t columns = view.style.columns > 40 ? view.style.columns : kUsualColumns;
  std::string out, line = indent;
  size_t from = 0;
  while (from < text.size()) {
    const size_t space = std::min(text.find(' ', from), text.size());
    const std::string word = text.substr(from, space - from);
    if (line != indent && Width(line) + 1 + Width(word) > columns) {
      absl::StrAppend(&out, line, "\n");
      line = indent;
    }
    absl::StrAppend(&line, line == indent ? "" : " ", word);
    from = space + 1;
  }
  return absl::StrCat(out, line, "\n");
}

std::string TimesText(double value, double usual) {
  if (usual <= 0) return value > 0 ? ", usually none" : "";
  const double times = value / usual;
  return times >= 1.05 || times <= 0.95 ? absl::StrFormat(", x %.3g", times) : "";
}

std::string PastText(const v1::InvestigateAnswer& answer, const View& view) {
  if (answer.past().empty()) return "";
  uint32_t points = 0;
  std::vector<std::string> spans;
  for (const v1::PastTime& past : answer.past()) points += past.points();
  const v1::PastTime& nearest = answer.past(0);
  spans.push_back(absl::StrCat(ClockText(nearest.start_s(), view.now, view.zone), " to ",
                               ClockText(nearest.end_s(), view.now, view.zone)));
  if (answer.past_size() > 1) {
    spans.push_back(Plural(answer.past_size() - 1, "other stretch"));
    if (answer.past_size() > 2) {
      spans.back() = absl::StrCat(answer.past_size() - 1, " other stretches");
    }
    spans.back() += absl::StrCat(
        " since ", MomentText(std::min_element(answer.past().begin(), answer.past().end(),
                                               [](const auto& a, const auto& b) {
                                                 return a.start_s() < b.start_s();
                                               })
                                  ->start_s(),
                              view.zone));
  }
  return absl::StrCat("held against ", absl::StrJoin(spans, " and "), ": ", Plural(points, "epoch"),
                      " of the past");
}

class Page {
 public:
  Page(const v1::InvestigateAnswer& answer, const InvestigationFrame& frame, const View& view)
      : answer_(answer), frame_(frame), view_(view) {}

  std::string Render() const {
    std::string out = absl::StrCat(Head(), Known());
    absl::StrAppend(&out, Title("WHAT WAS UNUSUAL", view_));
    if (answer_.findings().empty()) absl::StrAppend(&out, Nothing());
    for (int i = 0; i < answer_.findings_size(); ++i) {
      absl::StrAppend(&out, i > 0 ? "\n" : "", OneFinding(i + 1, answer_.findings(i)));
    }
    return absl::StrCat(out, Else(), Sureness(), DigOn());
  }

 private:
  std::string Head() const {
    const v1::Selection& asked = frame_.asked;
    const absl::Time start = absl::FromUnixMicros(std::llround(asked.start_s() * 1e6));
    return absl::StrCat(
        Painted(
            absl::StrCat(frame_.who, "  ",
                         absl::FormatTime("%a %Y-%m-%d %H:%M:%S", start, view_.zone), " to ",
                         absl::FormatTime("%H:%M:%S",
                                          absl::FromUnixMicros(std::llround(asked.end_s() * 1e6)),
                                          view_.zone)),
            Ink::kBold, view_.style),
        "  (times are ", ZoneText(start, view_.zone), ")\n");
  }

  // Incidents and diagnoses of the time: what was wrong stands before what was merely unusual.
  std::string Known() const {
    std::string out;
    std::set<std::string> told;  // diagnoses, by rule, node and subject
    for (const v1::Incident& incident : frame_.incidents) {
      absl::StrAppend(&out, "incident ", incident.number(), ", ", Escaped(incident.state()), ": ",
                      Painted(Escaped(incident.title()), Ink::kBold, view_.style), "\n");
      absl::StrAppend(&out, kIndent, "since ", ClockText(incident.start_s(), view_.now, view_.zone),
                      ", last news ", ClockText(incident.last_s(), view_.now, view_.zone), "\n");
      for (const v1::Anomaly& anomaly : answer_.anomalies()) {
        if (anomaly.rule() == 0 || !Holds(incident, anomaly)) continue;
        if (told.insert(KeyOf(anomaly)).second) absl::StrAppend(&out, Diagnosis(anomaly));
      }
      absl::StrAppend(&out, kIndent, "telltale incidents ", incident.number(), "\n");
    }
    if (frame_.incidents_left_out > 0) {
      absl::StrAppend(&out, "and ",
                      Plural(static_cast<double>(frame_.incidents_left_out), "older incident"),
                      " of this time: telltale incidents --all --limit ", kMostIncidents, "\n");
    }
    for (const v1::Anomaly& anomaly : answer_.anomalies()) {
      if (anomaly.rule() != 0 && told.insert(KeyOf(anomaly)).second) {
        absl::StrAppend(&out, Diagnosis(anomaly));
      }
    }
    return out.empty() ? "" : absl::StrCat(Title("WHAT WAS WRONG", view_), out);
  }

  static std::string KeyOf(const v1::Anomaly& anomaly) {
    return absl::StrCat(anomaly.rule(), "\n", anomaly.node(), "\n", anomaly.subject());
  }

  static bool Holds(const v1::Incident& incident, const v1::Anomaly& anomaly) {
    return std::ranges::any_of(incident.symptoms(), [&](const v1::IncidentSymptom& symptom) {
      return symptom.rule() == anomaly.rule() && symptom.filter() == anomaly.filter() &&
             (symptom.node() == anomaly.node() || symptom.node_count() > 1) &&
             (symptom.text() == anomaly.text() ||
              anomaly.subject().find(symptom.program()) != std::string::npos);
    });
  }

  std::string Diagnosis(const v1::Anomaly& anomaly) const {
    std::string out =
        Paragraph(absl::StrCat("diagnosis, rule ", anomaly.rule(), ", ",
                               ClockText(anomaly.start_s(), view_.now, view_.zone), ", ",
                               Escaped(anomaly.node()), ": ", Escaped(anomaly.text())),
                  kIndent, view_);
    const auto line = [&](const char* what, const std::string& text) {
      if (!text.empty()) absl::StrAppend(&out, kIndent, "  ", what, Escaped(text), "\n");
    };
    line("because: ", anomaly.evidence());
    line("against: ", anomaly.against());
    if (anomaly.has_record()) line("record:  ", formats::RecordText(anomaly.record()));
    line("next:    ", anomaly.next());
    return out;
  }

  std::string Nothing() const {
    if (answer_.lines() > 0 && answer_.unjudged() == answer_.lines()) {
      return Paragraph(
                 absl::StrCat("cannot be told: there is too little past to say what is usual, 8 "
                              "epochs before ",
                              ClockText(frame_.asked.start_s(), view_.now, view_.zone),
                              " are needed; what did most in this time:"),
                 "", view_) +
             absl::StrCat(kIndent, frame_.commands.Top(), "\n");
    }
    return Paragraph(absl::StrCat("nothing: of ", Plural(answer_.lines(), "series"),
                                  " none was as much as 5 deviations from its usual"),
                     "", view_);
  }

  std::string OneFinding(int number, const v1::Finding& finding) const {
    const std::string& unit = finding.unit();
    const bool less = finding.severity() < 0;
    std::string out = absl::StrCat(
        number, ". ", Painted(Escaped(VitalOf(finding)), Ink::kBold, view_.style), "  ",
        Painted(Rate(finding.value(), unit, finding.vital()), less ? Ink::kWarn : Ink::kBad,
                view_.style),
        less ? ", less than usual: " : ", usual is ", Rate(finding.usual(), unit, finding.vital()),
        TimesText(finding.value(), finding.usual()), "\n");
    absl::StrAppend(
        &out, Paragraph(absl::StrCat(ClockText(finding.start_s(), view_.now, view_.zone), " to ",
                                     ClockText(finding.end_s(), view_.now, view_.zone), ", ",
                                     LengthText(finding.end_s() - finding.start_s()), ", on ",
                                     Nodes(finding), "; ", HowFar(finding)),
                        kIndent, view_));
    absl::StrAppend(&out, Who(finding), Where(finding), Peers(finding));
    return out;
  }

  static std::string Nodes(const v1::Finding& finding) {
    std::string text = Escaped(finding.node());
    if (finding.also_nodes() == 0) return text;
    std::vector<std::string> named;
    for (const std::string& node : finding.also()) {
      if (named.size() < kNodesNamed) named.push_back(Escaped(node));
    }
    absl::StrAppend(&text, " and ", Plural(finding.also_nodes(), "other node"), " (",
                    absl::StrJoin(named, ", "), finding.also_nodes() > named.size() ? ", ..." : "",
                    ")");
    return text;
  }

  static std::string HowFar(const v1::Finding& finding) {
    const std::string far =
        finding.past_as_far() == 0
            ? absl::StrCat("none of ", Count(finding.past_points()), " past epochs was as far")
            : absl::StrCat(Count(finding.past_as_far()), " of ", Count(finding.past_points()),
                           " past epochs ", finding.past_as_far() == 1 ? "was" : "were", " as far");
    return absl::StrCat(far, " (peak ", Rate(finding.peak(), finding.unit(), finding.vital()),
                        ", usually ", Rate(finding.usual_low(), finding.unit(), finding.vital()),
                        " to ", Rate(finding.usual_high(), finding.unit(), finding.vital()), ")");
  }

  std::string Changed(const v1::Finding& finding, const v1::DiffRow& row) const {
    const double seconds = std::max(1e-3, finding.end_s() - finding.start_s());
    return absl::StrCat(row.difference() < 0 ? "-" : "+", Rate(std::abs(row.difference()) / seconds,
                                                               finding.unit(), finding.vital()));
  }

  std::string Who(const v1::Finding& finding) const {
    const v1::DiffTable& table = finding.processes();
    const char* label = finding.waiting() ? "waited" : "who   ";
    if (table.rows().empty()) {
      return absl::StrCat(
          kIndent, label, "  ",
          table.reason().empty() ? "no single process stands out" : Escaped(table.reason()), "\n");
    }
    Table out({{"", Table::Align::kLeft, 20}, {""}, {"", Table::Align::kRight}, {""}, {""}});
    for (const v1::DiffRow& row : table.rows()) {
      const v1::TopRow& named = row.difference() > 0 ? row.row() : row.against();
      std::string process = named.pid() > 0 ? absl::StrCat("pid ", named.pid()) : "";
      if (!named.user().empty()) {
        absl::StrAppend(&process, process.empty() ? "" : ", ", "user ", Escaped(named.user()));
      }
      const double before = row.against().value(), now = row.row().value();
      out.Add({Escaped(named.name()), process, Changed(finding, row),
               before <= 0 ? "new"
               : now <= 0  ? "gone"
                           : absl::StrFormat("x %.3g", now / before),
               row.certain() ? "" : "perhaps"});
    }
    return Labelled(label, out.Render(view_.style, ""));
  }

  // The lines of a block, the first behind the label, the others below it.
  static std::string Labelled(const std::string& label, const std::string& block) {
    std::string out;
    size_t from = 0;
    while (from < block.size()) {
      const size_t end = std::min(block.find('\n', from), block.size());
      absl::StrAppend(&out, kIndent, out.empty() ? label : std::string(label.size(), ' '), "  ",
                      block.substr(from, end - from), "\n");
      from = end + 1;
    }
    return out;
  }

  std::string Where(const v1::Finding& finding) const {
    const v1::DiffTable& table = finding.sites();
    if (table.rows().empty()) return "";
    const v1::DiffRow& first = table.rows(0);
    const auto& frames =
        first.row().stack().empty() ? first.against().stack() : first.row().stack();
    View narrow = view_;
    if (narrow.style.columns > 60) narrow.style.columns -= 11;
    std::string block = absl::StrCat(Escaped(first.row().name()), "  ", Changed(finding, first),
                                     first.certain() ? "" : "  perhaps", "\n");
    if (frames.size() > 1) {
      absl::StrAppend(&block,
                      StackLines({frames.begin() + 1, frames.end()}, "  < ", kFrames, narrow));
    }
    for (int i = 1; i < table.rows_size(); ++i) {
      absl::StrAppend(&block, "then ", Escaped(table.rows(i).row().name()), "  ",
                      Changed(finding, table.rows(i)), "\n");
    }
    return Labelled("where ", block);
  }

  // Who held, ran instead or woke, of the heaviest event of the first process.
  std::string Peers(const v1::Finding& finding) const {
    const v1::SampleAnswer& sample = finding.example();
    std::string out;
    const auto add = [&](const v1::PeerAnswer& peer, const char* what) {
      if (peer.comm().empty() && peer.pid() == 0) return;
      std::string block = absl::StrCat(what, " ", Escaped(peer.comm()), " (pid ", peer.pid(), ")");
      if (!peer.stack().empty()) {
        absl::StrAppend(&block, " at ", FrameLine(peer.stack(0)));
      }
      absl::StrAppend(&out, Labelled("      ", block + "\n"));
    };
    if (sample.has_holder()) add(sample.holder(), "held by");
    if (sample.has_ran_instead()) add(sample.ran_instead(), "instead ran");
    if (finding.waiting() && sample.has_waker()) add(sample.waker(), "woken by");
    return out;
  }

  std::string Else() const {
    struct Line {
      double time_s;
      std::string kind, node, text;
    };
    std::vector<Line> lines;
    for (const v1::Mark& mark : answer_.marks()) {
      lines.push_back({mark.time_s(), "note", mark.node().empty() ? "(all)" : mark.node(),
                       absl::StrCat(Escaped(mark.text()), "  (", Escaped(mark.by()), ")")});
    }
    for (const v1::EventAnswer& event : answer_.events()) {
      lines.push_back({event.time_s(), event.type(), event.node(), Escaped(event.text())});
    }
    for (const v1::Anomaly& anomaly : answer_.anomalies()) {
      if (anomaly.rule() != 0) continue;  // stands above
      lines.push_back({anomaly.start_s(), "anomaly", anomaly.node(), Escaped(anomaly.text())});
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.time_s < b.time_s; });
    std::string out = Title("WHAT ELSE HAPPENED", view_);
    Table table({{""}, {""}, {"", Table::Align::kLeft, 8}, {"", Table::Align::kLeft, 30}});
    const bool one_node = answer_.nodes() == 1;
    for (const Line& line : lines) {
      table.Add({ClockText(line.time_s, view_.now, view_.zone), Escaped(line.kind),
                 one_node ? "" : Escaped(line.node), line.text});
    }
    if (table.empty()) absl::StrAppend(&out, "nothing of note\n");
    absl::StrAppend(&out, table.Render(view_.style));
    if (answer_.events_left_out() > 0) {
      absl::StrAppend(&out,
                      Painted(absl::StrCat("and ", Count(answer_.events_left_out()),
                                           " usual starts and ends of programs"),
                              Ink::kDim, view_.style),
                      "\n");
    }
    return out;
  }

  std::string Sureness() const {
    std::string out = Title("HOW SURE", view_);
    if (const std::string past = PastText(answer_, view_); !past.empty()) {
      absl::StrAppend(&out, Paragraph(past, "", view_));
    }
    if (answer_.unjudged() > 0 && answer_.unjudged() < answer_.lines()) {
      absl::StrAppend(&out, Paragraph(absl::StrCat(answer_.unjudged(), " of ", answer_.lines(),
                                                   " series have too little past to be judged"),
                                      "", view_));
    }
    absl::StrAppend(&out, RenderCoverage(answer_.coverage(), view_));
    for (const v1::Gap& gap : answer_.gaps()) {
      absl::StrAppend(&out, "not watched: ", ClockText(gap.start_s(), view_.now, view_.zone),
                      " to ", ClockText(gap.end_s(), view_.now, view_.zone),
                      answer_.nodes() == 1 ? "" : absl::StrCat(" on ", Escaped(gap.node())), ", ",
                      Escaped(gap.reason()), "\n");
    }
    for (const std::string& note : answer_.notes()) {
      absl::StrAppend(&out, Paragraph(Escaped(note), "", view_));
    }
    if (!frame_.incidents_problem.empty()) {
      absl::StrAppend(&out, Paragraph(absl::StrCat("incidents of this time are not known: ",
                                                   Escaped(frame_.incidents_problem)),
                                      "", view_));
    }
    if (frame_.incidents_from_s > 0) {
      absl::StrAppend(&out,
                      Paragraph(absl::StrCat("incidents that began before ",
                                             MomentText(frame_.incidents_from_s, view_.zone),
                                             " were not looked at: a collector lists its newest ",
                                             Count(kMostIncidents),
                                             "; telltale incidents NUMBER shows an older one"),
                                "", view_));
    }
    return out;
  }

  std::string DigOn() const {
    std::string out = Title("DIG ON", view_);
    constexpr size_t kDiagnosesFollowed = 3;
    std::set<std::string> next;
    for (const v1::Anomaly& anomaly : answer_.anomalies()) {
      if (anomaly.rule() == 0 || anomaly.next().empty() || next.size() == kDiagnosesFollowed ||
          !next.insert(anomaly.next()).second) {
        continue;
      }
      absl::StrAppend(&out, kIndent, Escaped(anomaly.next()), "\n");
    }
    for (const std::string& line : answer_.findings().empty()
                                       ? std::vector<std::string>{frame_.commands.Series()}
                                       : frame_.commands.For(answer_.findings(0), answer_)) {
      absl::StrAppend(&out, kIndent, line, "\n");
    }
    return out;
  }

  const v1::InvestigateAnswer& answer_;
  const InvestigationFrame& frame_;
  const View& view_;
};

}  // namespace

bool Concerns(const v1::Incident& incident, const v1::Selection& asked) {
  const bool over = incident.state() == "resolved";
  const bool in_time = incident.start_s() < asked.end_s() &&
                       (over ? incident.last_s() : asked.end_s()) >= asked.start_s();
  if (!in_time || incident.merged_into() > 0) return false;
  if (asked.nodes().empty() || incident.node_count() > static_cast<uint64_t>(incident.nodes_size()))
    return true;
  return std::ranges::any_of(asked.nodes(), [&](const std::string& node) {
    return std::ranges::count(incident.nodes(), node) > 0;
  });
}

void AddIncidents(const v1::ListIncidentsAnswer& newest, InvestigationFrame& frame, size_t most) {
  for (const v1::Incident& incident : newest.incidents()) {
    if (!Concerns(incident, frame.asked)) continue;
    if (frame.incidents.size() < most) {
      frame.incidents.push_back(incident);
    } else {
      ++frame.incidents_left_out;
    }
  }
  if (static_cast<uint32_t>(newest.incidents_size()) < kMostIncidents) return;
  const v1::Incident& oldest = newest.incidents(newest.incidents_size() - 1);
  const bool reached = oldest.number() == 1 || oldest.start_s() <= frame.asked.start_s();
  if (!reached) frame.incidents_from_s = oldest.start_s();
}

std::string RenderInvestigation(const v1::InvestigateAnswer& answer,
                                const InvestigationFrame& frame, const View& view) {
  return Page(answer, frame, view).Render();
}

}  // namespace telltale::cli
