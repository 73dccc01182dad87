#include "collector/cli/live_screen.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

constexpr size_t kLiveBarColumns = 10;
constexpr const char* kKeys = "Tab, right, left: vital   up, down: scroll   space: hold   q: leave";

// Names of vitals, the chosen one in brackets, in as many lines as they need.
std::vector<std::string> Tabs(const LiveState& state, size_t columns, const Style& style) {
  std::vector<std::string> lines(1);
  size_t width = 0;
  for (size_t i = 0; i < state.vitals.size(); ++i) {
    const std::string name = Escaped(state.vitals[i]);
    const bool chosen = i == state.chosen;
    const std::string shown = chosen ? absl::StrCat("[", name, "]") : absl::StrCat(" ", name, " ");
    if (width > 0 && width + Width(shown) > columns) {
      lines.emplace_back();
      width = 0;
    }
    width += Width(shown);
    absl::StrAppend(&lines.back(), Painted(shown, chosen ? Ink::kBold : Ink::kDim, style));
  }
  return lines;
}

// What the figures are of: whole epochs, perhaps not up to now.
double SecondsOf(const LiveState& state) {
  const v1::Coverage& coverage = state.answer.coverage();
  const double seconds = coverage.values_end_s() - coverage.values_start_s();
  return seconds > 0 ? seconds : state.length_s;
}

std::vector<std::string> TableLines(const v1::TopTable& table, const LiveState& state,
                                    const View& view) {
  using Align = Table::Align;
  const bool code = table.by() == v1::DIMENSION_SITE;
  Table out({{absl::StrCat("by ", DimensionText(table.by())), Align::kLeft, 16},
             {"", Align::kRight},
             {"", Align::kRight},
             {""},
             {code ? "of" : "pid", code ? Align::kLeft : Align::kRight, code ? 10u : 0u},
             {code ? "" : "node", Align::kLeft, 8}});
  for (const v1::TopRow& row : table.rows()) {
    out.Add({Escaped(row.name()), Rate(row.value() / SecondsOf(state), table.unit(), table.vital()),
             Share(row.share()), Bar(row.share(), kLiveBarColumns, view.style),
             code                  ? Escaped(row.exe())
             : row.pid() != 0      ? absl::StrCat(row.pid())
             : row.instances() > 1 ? absl::StrCat(row.instances(), " x")
                                   : "",
             code ? "" : Escaped(row.node())});
  }
  std::vector<std::string> lines = absl::StrSplit(out.Render(view.style), '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (table.rows().empty()) lines = {absl::StrCat("by ", DimensionText(table.by()), ": nothing")};
  return lines;
}

std::string Summary(const LiveState& state, const View& view) {
  const v1::Coverage& coverage = state.answer.coverage();
  if (coverage.values_end_s() <= 0) {
    return absl::StrCat("no epoch of the last ", LengthText(state.length_s), " is there yet");
  }
  std::string text = absl::StrCat(
      "newest epoch ended ", ClockText(coverage.values_end_s(), view.now, view.zone), "; ",
      LengthText(coverage.watched_s()), " of ", LengthText(coverage.selected_s()), " on ",
      Plural(coverage.nodes_selected(), "node"), " watched");
  double lost = 0;
  for (const v1::ReasonCount& reason : coverage.lost_events()) lost += reason.events();
  if (lost > 0) absl::StrAppend(&text, "; ", Count(lost), " events lost");
  return text;
}

// Whether it comes by itself.
std::string Feed(const LiveState& state) {
  if (state.told) {
    return state.untold.empty() ? "told as it comes"
                                : absl::StrCat("told by epochs only: ", Escaped(state.untold));
  }
  return absl::StrCat("not told by the collector, asked every ", state.asked_every_s, " s",
                      state.untold.empty() ? "" : ": ", Escaped(state.untold));
}

// Cut by columns; what was painted is not cut, so lines are painted only where they fit.
std::string Fitted(const std::string& line, size_t columns) {
  if (Width(line) <= columns) return line;
  std::string plain;
  for (size_t i = 0; i < line.size();) {
    if (line[i] == '\x1b') {
      i = std::min(line.find('m', i), line.size() - 1) + 1;
    } else {
      plain += line[i++];
    }
  }
  return Shortened(plain, columns);
}

}  // namespace

std::string LiveScreen(const LiveState& state, size_t columns, size_t rows, const View& view) {
  View narrow = view;
  narrow.style.columns = columns;
  std::vector<std::string> top = {
      absl::StrCat(Painted("telltale live", Ink::kBold, view.style), "  ", Escaped(state.who), "  ",
                   absl::FormatTime("%H:%M:%S", view.now, view.zone), ", the last ",
                   LengthText(state.length_s), state.held ? "  HELD" : "")};
  for (std::string& line : Tabs(state, columns, view.style)) top.push_back(std::move(line));
  const std::string& last = state.error;
  top.push_back(last.empty() ? Painted(state.asking ? "asking ..." : Summary(state, view),
                                       Ink::kDim, view.style)
                             : Painted(Escaped(last), Ink::kBad, view.style));
  if (!state.asking) {
    top.push_back(Painted(Feed(state), state.told && state.untold.empty() ? Ink::kDim : Ink::kBad,
                          view.style));
  }
  std::vector<std::string> body;
  for (const v1::TopTable& table : state.answer.tables()) {
    if (body.empty()) {
      body.push_back(absl::StrCat(
          Painted(Escaped(table.vital()), Ink::kBold, view.style), "  ",
          Rate(table.total() / SecondsOf(state), table.unit(), table.vital()), " in all",
          state.now.has_value()
              ? absl::StrCat(", ", Rate(*state.now, table.unit(), table.vital()), " now")
          : state.unseen && table.state() != v1::VITAL_STATE_UNAVAILABLE
              ? ", not looked at in this second"
              : "",
          HiddenText(table.hidden(), table.total(), table.unit()),
          table.state() == v1::VITAL_STATE_UNAVAILABLE
              ? absl::StrCat("; unavailable: ", Escaped(table.reason()))
              : ""));
    } else {
      body.emplace_back();
    }
    for (std::string& line : TableLines(table, state, narrow)) body.push_back(std::move(line));
  }
  const size_t room = rows > top.size() + 1 ? rows - top.size() - 1 : 0;
  const size_t most = body.size() > room ? body.size() - room : 0;
  const size_t from = std::min(state.scrolled, most);
  for (size_t i = from; i < std::min(body.size(), from + room); ++i) top.push_back(body[i]);
  while (top.size() + 1 < rows) top.emplace_back();
  top.push_back(Painted(kKeys, Ink::kDim, view.style));
  if (top.size() > rows) top.resize(rows);
  for (std::string& line : top) line = Fitted(line, columns);
  return absl::StrJoin(top, "\n");
}

}  // namespace telltale::cli
