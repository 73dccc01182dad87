#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

constexpr size_t kLabelColumns = 32;

std::string Signed(double value, const std::string& unit) {
  return absl::StrCat(value < 0 ? "-" : "+", Quantity(std::abs(value), unit));
}

// "x 2.1", "new", "gone".
std::string Ratio(double now, double before) {
  if (before <= 0) return now > 0 ? "new" : "";
  if (now <= 0) return "gone";
  return absl::StrFormat("x %.3g", now / before);
}

std::string SideText(const v1::Coverage& coverage, const View& view) {
  return absl::StrCat(MomentText(coverage.asked_start_s(), view.zone), " to ",
                      ClockText(coverage.asked_end_s(), view.now, view.zone), ", ",
                      Plural(coverage.nodes_selected(), "node"));
}

// Which two times, and what was done to make them alike.
std::string Sides(const v1::Coverage& now, const v1::Coverage& against, double scale,
                  const View& view) {
  std::string text =
      absl::StrCat("now      ", SideText(now, view), "\nagainst  ", SideText(against, view));
  if (std::abs(scale - 1) > 0.001) {
    absl::StrAppend(&text, absl::StrFormat("; its figures are times %.4g", scale),
                    ", for as much watched node time as now");
  }
  return absl::StrCat(text, "\n", ZoneLine(view), "\n");
}

std::string BothCoverages(const v1::Coverage& now, const v1::Coverage& against, const View& view) {
  return absl::StrCat("now: ", RenderCoverage(now, view),
                      "against: ", RenderCoverage(against, view));
}

// Of one node, which then need not stand in each row.
bool OneNode(const v1::DiffTable& table) {
  return std::ranges::all_of(table.rows(), [&](const v1::DiffRow& row) {
    return row.row().node() == table.rows(0).row().node();
  });
}

std::string NameOf(const v1::DiffTable& table, const v1::DiffRow& row) {
  std::string name = Escaped(row.row().name());
  if (table.by() == v1::DIMENSION_PROCESS) {
    if (row.row().pid() != 0) absl::StrAppend(&name, " (pid ", row.row().pid(), ")");
    if (!OneNode(table)) absl::StrAppend(&name, " on ", Escaped(row.row().node()));
  }
  return name;
}

std::string Rows(const v1::DiffTable& table, bool certain, const std::string& title,
                 const View& view) {
  using Align = Table::Align;
  const bool code = table.by() == v1::DIMENSION_SITE || table.by() == v1::DIMENSION_STACK;
  Table out({{title, Align::kLeft, kLabelColumns},
             {"against", Align::kRight},
             {"now", Align::kRight},
             {"difference", Align::kRight},
             {"", Align::kLeft},
             {"between"},
             {code ? "of" : "", Align::kLeft, 16}});
  for (const v1::DiffRow& row : table.rows()) {
    if (row.certain() != certain) continue;
    const std::string least = Signed(row.difference_low(), table.unit()),
                      most = Signed(row.difference_high(), table.unit());
    out.Add({NameOf(table, row), Quantity(row.against().value(), table.unit()),
             Quantity(row.row().value(), table.unit()), Signed(row.difference(), table.unit()),
             Ratio(row.row().value(), row.against().value()),
             least != most ? absl::StrCat(least, " and ", most) : "",
             code ? Escaped(row.row().exe()) : ""});
  }
  return out.empty() ? "" : out.Render(view.style, "  ");
}

std::string Stacks(const v1::DiffTable& table, const View& view) {
  std::string out;
  for (const v1::DiffRow& row : table.rows()) {
    const auto& frames = row.row().stack().empty() ? row.against().stack() : row.row().stack();
    if (frames.empty() || !row.certain()) continue;
    absl::StrAppend(&out, "    ", Signed(row.difference(), table.unit()), "  ",
                    Escaped(row.row().exe()), "\n",
                    StackLines({frames.begin(), frames.end()}, "        ", kStackFrames, view));
  }
  return out;
}

std::string OneTable(const v1::DiffTable& table, const View& view) {
  const std::string by = absl::StrCat("by ", DimensionText(table.by()));
  if (!table.reason().empty()) return absl::StrCat("  ", by, ": ", Escaped(table.reason()), "\n");
  std::string out = Rows(table, true, by, view);
  if (out.empty()) out = absl::StrCat("  ", by, ": nothing changed for certain\n");
  absl::StrAppend(&out, Rows(table, false, "perhaps, within the bounds", view));
  if (table.unlisted_most() > 0) {
    absl::StrAppend(&out, "    what is not listed differs by at most ",
                    Quantity(table.unlisted_most(), table.unit()), " each\n");
  }
  if (table.by() == v1::DIMENSION_STACK) absl::StrAppend(&out, Stacks(table, view));
  return out;
}

bool Quiet(const v1::DiffTable& table) {
  return table.reason().empty() && table.total() == 0 && table.against_total() == 0;
}

// One line of the tree: a node and those below it that are all it has.
struct Chain {
  std::string names;
  int last = 0;
};

class FlameText {
 public:
  FlameText(const v1::FlameAnswer& answer, const View& view)
      : answer_(answer), view_(view), children_(static_cast<size_t>(answer.nodes_size())) {
    for (int i = 1; i < answer.nodes_size(); ++i) children_[answer.nodes(i).parent()].push_back(i);
  }

  std::string Render(size_t lines) {
    using Align = Table::Align;
    const bool compared = answer_.scale() > 0;
    Table table({{"", Align::kRight},
                 {"", Align::kRight},
                 {compared ? "against" : "", Align::kRight},
                 {compared ? "difference" : "", Align::kRight},
                 {compared ? "for certain" : ""},
                 {"frames, caller first"}});
    const double smallest = SmallestOf(lines);
    if (!children_.empty()) Add(0, 0, smallest, compared, &table);
    return table.Render(view_.style);
  }

 private:
  static constexpr size_t kNamesShown = 2, kDeepest = 30;

  static double Size(const v1::FlameNode& node) { return std::max(node.value(), node.against()); }

  Chain ChainFrom(int node) const {
    std::vector<std::string> names = {Name(node)};
    while (children_[static_cast<size_t>(node)].size() == 1) {
      const int only = children_[static_cast<size_t>(node)].front();
      const v1::FlameNode& here = answer_.nodes(node);
      if (here.self() > 0.001 * here.value() || here.against_self() > 0.001 * Size(here)) break;
      node = only;
      names.push_back(Name(node));
    }
    if (names.size() > 2 * kNamesShown + 1) {
      const auto begin = names.begin() + kNamesShown, end = names.end() - kNamesShown;
      const std::string between = absl::StrCat("(", end - begin, " more)");
      names.erase(begin, end);
      names.insert(names.begin() + kNamesShown, between);
    }
    return {absl::StrJoin(names, " > "), node};
  }

  std::string Name(int node) const {
    constexpr size_t kColumns = 60;
    v1::Frame frame;
    frame.set_name(answer_.nodes(node).name());
    frame.set_binary(answer_.nodes(node).binary());
    frame.set_kernel(answer_.nodes(node).kernel());
    return Shortened(FrameLine(frame), kColumns);
  }

  // A chain is a line: the size of the smallest of the largest `lines` chains.
  double SmallestOf(size_t lines) const {
    std::vector<double> sizes;
    std::vector<int> open = {0};
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      for (const int child : children_[static_cast<size_t>(node)]) {
        sizes.push_back(Size(answer_.nodes(child)));
        open.push_back(ChainFrom(child).last);
      }
    }
    if (sizes.size() <= lines) return 0;
    std::nth_element(sizes.begin(), sizes.begin() + static_cast<long>(lines), sizes.end(),
                     std::greater<>());
    return sizes[lines];
  }

  void Add(int node, size_t depth, double smallest, bool compared, Table* table) const {
    for (const int child : children_[static_cast<size_t>(node)]) {
      const v1::FlameNode& here = answer_.nodes(child);
      if (Size(here) <= smallest && smallest > 0) continue;
      const Chain chain = ChainFrom(child);
      const std::string indent(2 * std::min(depth, kDeepest), ' ');
      table->Add(
          {Quantity(here.value(), answer_.unit()),
           Share(answer_.total() > 0 ? here.value() / answer_.total() : 0),
           compared ? Quantity(here.against(), answer_.unit()) : "",
           compared ? Signed(here.value() - here.against(), answer_.unit()) : "",
           compared && here.certain() ? (here.value() > here.against() ? "more" : "less") : "",
           indent + chain.names});
      Add(chain.last, depth + 1, smallest, compared, table);
    }
  }

  const v1::FlameAnswer& answer_;
  const View& view_;
  std::vector<std::vector<int>> children_;
};

std::string TotalText(double total, double against, const std::string& unit, bool compared) {
  if (!compared) return absl::StrCat(Quantity(total, unit), " in all");
  const std::string ratio = Ratio(total, against);
  return absl::StrCat(Quantity(total, unit), " in all, against ", Quantity(against, unit),
                      ratio.empty() ? "" : " (", ratio, ratio.empty() ? "" : ")");
}

std::string VitalText(const std::string& vital, const std::string& sub, const View& view) {
  return Painted(Escaped(sub.empty() ? vital : absl::StrCat(vital, "/", sub)), Ink::kBold,
                 view.style);
}

}  // namespace

std::string RenderDiff(const v1::DiffAnswer& answer, const View& view) {
  std::string out = Sides(answer.coverage(), answer.against_coverage(), answer.scale(), view);
  std::string last;
  std::vector<std::string> quiet;
  for (const v1::DiffTable& table : answer.tables()) {
    const std::string vital = VitalText(table.vital(), table.sub(), view);
    if (Quiet(table)) {
      if (quiet.empty() || quiet.back() != vital) quiet.push_back(vital);
      continue;
    }
    if (vital != last) {
      absl::StrAppend(
          &out, last.empty() ? "" : "\n", vital, "  ",
          TotalText(table.total(), table.against_total(), table.unit(), true),
          HiddenText(table.hidden(), table.total(), table.unit()),
          answer.process().empty()
              ? ""
              : absl::StrCat("; rows are of process ", Escaped(answer.process())),
          table.left_out().empty()
              ? ""
              : absl::StrCat(" (without ", Escaped(absl::StrJoin(table.left_out(), ", ")), ")"),
          "\n");
    }
    last = vital;
    absl::StrAppend(&out, OneTable(table, view));
  }
  if (!quiet.empty()) {
    absl::StrAppend(&out, "\nnothing on either side: ", absl::StrJoin(quiet, ", "), "\n");
  }
  return absl::StrCat(out, "\n", BothCoverages(answer.coverage(), answer.against_coverage(), view));
}

std::string RenderFlame(const v1::FlameAnswer& answer, size_t lines, const View& view) {
  const bool compared = answer.scale() > 0;
  std::string out;
  if (compared) out = Sides(answer.coverage(), answer.against_coverage(), answer.scale(), view);
  absl::StrAppend(&out, VitalText(answer.vital(), answer.sub(), view), "  ",
                  TotalText(answer.total(), answer.against_total(), answer.unit(), compared),
                  HiddenText(answer.hidden(), answer.total(), answer.unit()), "; ",
                  Quantity(answer.nodes_size() > 0 ? answer.nodes(0).value() : 0, answer.unit()),
                  " in stacks\n", FlameText(answer, view).Render(lines), "\n");
  return absl::StrCat(out, compared
                               ? BothCoverages(answer.coverage(), answer.against_coverage(), view)
                               : RenderCoverage(answer.coverage(), view));
}

}  // namespace telltale::cli
