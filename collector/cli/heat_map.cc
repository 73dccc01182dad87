#include "collector/cli/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

constexpr size_t kUsualColumns = 80, kNameColumns = 16, kPeakColumns = 12, kLeastCells = 10;
constexpr size_t kLevels = 8;
constexpr std::array<const char*, kLevels> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
// Of the 256 colours of terminals, dark blue to yellow: brighter is more, also for the
// colour-blind.
constexpr std::array<int, kLevels> kInks = {61, 60, 66, 72, 71, 107, 149, 226};

struct Row {
  std::string node;
  std::vector<double> cells;  // rate; below 0: not watched
  double peak = 0;
};

// The cells in which a point lies, [first, last].
std::pair<size_t, size_t> CellsOf(double start_s, double end_s, const v1::Selection& asked,
                                  size_t cells) {
  const double width_s = (asked.end_s() - asked.start_s()) / static_cast<double>(cells);
  const auto at = [&](double time_s) {
    const double cell = std::floor((time_s - asked.start_s()) / width_s);
    return static_cast<size_t>(std::clamp(cell, 0.0, static_cast<double>(cells - 1)));
  };
  // Where it ends begins the next one's.
  return {at(start_s), std::max(at(start_s), at(end_s - 1e-3))};
}

Row RowOf(const v1::Series& series, const v1::Selection& asked, size_t cells) {
  Row row{series.node(), std::vector<double>(cells, -1), 0};
  for (int i = 0; i < series.rate_size(); ++i) {
    const double start_s = series.start_s(i), end_s = start_s + series.length_s(i);
    if (series.watched(i) <= 0 || end_s <= asked.start_s() || start_s >= asked.end_s()) continue;
    const auto [first, last] = CellsOf(start_s, end_s, asked, cells);
    for (size_t cell = first; cell <= last; ++cell) {
      row.cells[cell] = std::max(row.cells[cell], series.rate(i));
    }
    row.peak = std::max(row.peak, series.rate(i));
  }
  return row;
}

std::string CellText(double rate, double highest, const Style& style) {
  if (rate < 0) return Painted("·", Ink::kDim, style);
  if (rate == 0 || highest <= 0) return " ";
  const auto level =
      std::min(kLevels - 1, static_cast<size_t>(rate / highest * static_cast<double>(kLevels)));
  if (!style.colour) return kBlocks[level];
  return absl::StrCat("\x1b[38;5;", kInks[level], "m", kBlocks[level], "\x1b[0m");
}

std::string Padded(const std::string& text, size_t columns) {
  return text + std::string(columns - std::min(columns, Width(text)), ' ');
}

// When the cells begin and end, and the middle if there is room.
std::string Axis(const v1::Selection& asked, size_t cells, const View& view) {
  const std::string start = ClockText(asked.start_s(), view.now, view.zone);
  const std::string end = ClockText(asked.end_s(), view.now, view.zone);
  if (start.size() + end.size() + 2 > cells) return start + " to " + end;
  return Padded(start, cells - end.size()) + end;
}

}  // namespace

std::string RenderHeat(const v1::SeriesAnswer& answer, const v1::Selection& asked, size_t rows,
                       const View& view) {
  const size_t columns = view.style.columns > 0 ? view.style.columns : kUsualColumns;
  const size_t around = kNameColumns + kPeakColumns + 4;
  const size_t cells = std::max(kLeastCells, columns > around ? columns - around : 0);
  std::vector<Row> drawn;
  for (const v1::Series& series : answer.series()) drawn.push_back(RowOf(series, asked, cells));
  std::stable_sort(drawn.begin(), drawn.end(), [](const Row& a, const Row& b) {
    return a.peak != b.peak ? a.peak > b.peak : a.node < b.node;
  });
  if (drawn.empty()) return RenderCoverage(answer.coverage(), view);
  const v1::Series& any = answer.series(0);
  const double highest = drawn.front().peak;
  std::string out = absl::StrCat(
      Painted(Escaped(any.sub().empty() ? any.vital() : absl::StrCat(any.vital(), "/", any.sub())),
              Ink::kBold, view.style),
      "  a full block is ", Rate(highest, any.unit(), any.vital()),
      ", blank is none, · is not watched\n");
  const size_t shown = std::min(rows, drawn.size());
  for (size_t i = 0; i < shown; ++i) {
    absl::StrAppend(&out, Padded(Shortened(Escaped(drawn[i].node), kNameColumns), kNameColumns),
                    "  ");
    for (const double rate : drawn[i].cells) out += CellText(rate, highest, view.style);
    absl::StrAppend(&out, "  ", Rate(drawn[i].peak, any.unit(), any.vital()), "\n");
  }
  absl::StrAppend(&out, std::string(kNameColumns + 2, ' '), Axis(asked, cells, view), "\n",
                  ZoneLine(view));
  if (drawn.size() > shown) {
    absl::StrAppend(&out, "and ", Plural(static_cast<double>(drawn.size() - shown), "other node"),
                    ", none above ", Rate(drawn[shown].peak, any.unit(), any.vital()),
                    "; --limit shows more\n");
  }
  return absl::StrCat(out, "\n", RenderCoverage(answer.coverage(), view));
}

}  // namespace telltale::cli
