#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

constexpr size_t kBarColumns = 10;

std::string VitalText(const v1::TopTable& table) {
  return Escaped(table.sub().empty() ? table.vital()
                                     : absl::StrCat(table.vital(), "/", table.sub()));
}

std::string Heading(const v1::TopTable& table, const std::string& process, const View& view) {
  std::string text = absl::StrCat(Painted(VitalText(table), Ink::kBold, view.style), "  ",
                                  Quantity(table.total(), table.unit()), " in all");
  if (table.unit() == "s" || table.unit() == "bytes" || table.unit() == "pages") {
    absl::StrAppend(&text, ", ", Plural(table.events(), "event"));
  }
  absl::StrAppend(&text, HiddenText(table.hidden(), table.total(), table.unit()));
  if (!process.empty()) absl::StrAppend(&text, "; rows are of process ", Escaped(process));
  if (!table.left_out().empty())
    absl::StrAppend(&text, " (without ", Escaped(absl::StrJoin(table.left_out(), ", ")), ")");
  if (table.state() == v1::VITAL_STATE_DEGRADED) {
    absl::StrAppend(&text, "; ", Painted("degraded", Ink::kWarn, view.style),
                    table.reason().empty() ? "" : ": ", Escaped(table.reason()));
  }
  if (table.estimated()) absl::StrAppend(&text, "; estimates: how far off is not known");
  return text + "\n";
}

bool ByCode(const v1::TopTable& table) {
  return table.by() == v1::DIMENSION_SITE || table.by() == v1::DIMENSION_STACK;
}

// The row's share of the total; from what to what where it is an estimate that may be far off.
std::string ShareText(const v1::TopTable& table, const v1::TopRow& row) {
  constexpr double kCertain = 0.1;
  const bool far = row.high() - row.low() > kCertain * row.value();
  if (table.exact() || !far || table.total() <= 0) return Share(row.share());
  const std::string low = Share(row.low() / table.total());
  const std::string high = Share(row.high() / table.total());
  return low == high ? low : absl::StrCat(absl::StripSuffix(low, " %"), " to ", high);
}

// What may be said of code that has no row.
std::string NotListed(const v1::TopTable& table) {
  if (!ByCode(table) || table.unlisted_most() <= 0) return "";
  const std::string why =
      table.kept_labels() > 0
          ? absl::StrCat("windows keep ", table.kept_labels(), " labels of a vital")
          : "epochs keep what was sampled";
  return absl::StrCat("    ", why, "; what is not listed weighs at most ",
                      Quantity(table.unlisted_most(), table.unit()), " each\n");
}

std::string Rows(const v1::TopTable& table, const View& view) {
  using Align = Table::Align;
  std::set<std::string> nodes;
  for (const v1::TopRow& row : table.rows()) nodes.insert(row.node());
  const bool process = table.by() == v1::DIMENSION_PROCESS;
  Table out({{absl::StrCat("by ", DimensionText(table.by())), Align::kLeft, 24},
             {"", Align::kRight},
             {"", Align::kRight},
             {""},
             {"pid", Align::kRight},
             {"uid", Align::kRight},
             {"node"},
             {"between"},
             {"samples", Align::kRight},
             {"of", Align::kLeft, 16}});
  if (table.rows_before() > 0) {
    const double share = table.total() > 0 ? table.before() / table.total() : 0;
    out.Add({absl::StrCat("(", Plural(table.rows_before(), "row"), " before)"),
             Quantity(table.before(), table.unit()), Share(share)});
  }
  for (const v1::TopRow& row : table.rows()) {
    std::string name = Escaped(row.name());
    if (row.open()) absl::StrAppend(&name, " (open: still going on)");
    const std::string least = Quantity(row.low(), table.unit()),
                      most = Quantity(row.high(), table.unit());
    const bool bounded = !table.exact() && least != most;
    out.Add(
        {name, Quantity(row.value(), table.unit()), ShareText(table, row),
         Bar(row.share(), kBarColumns, view.style), row.pid() != 0 ? absl::StrCat(row.pid()) : "",
         process ? Escaped(row.user()) : "", process && nodes.size() > 1 ? Escaped(row.node()) : "",
         bounded ? absl::StrCat(least, " and ", most) : "",
         row.samples() > 0 ? Count(row.samples()) : "", ByCode(table) ? Escaped(row.exe()) : ""});
  }
  if (table.other() > 0) {
    const double share = table.total() > 0 ? table.other() / table.total() : 0;
    out.Add({table.exact() ? "(other)" : "(other and not sampled)",
             Quantity(table.other(), table.unit()), Share(share)});
  }
  return out.Render(view.style, "  ") + NotListed(table);
}

}  // namespace

std::string HiddenText(double hidden, double total, const std::string& unit) {
  if (hidden <= 0) return "";
  return absl::StrCat(", without ", Quantity(hidden, unit), " (", Share(hidden / (hidden + total)),
                      ") of Telltale's own");
}

std::string DimensionText(v1::Dimension by) {
  switch (by) {
    case v1::DIMENSION_PROCESS:
      return "process";
    case v1::DIMENSION_EXE:
      return "executable";
    case v1::DIMENSION_USER:
      return "user";
    case v1::DIMENSION_CGROUP:
      return "cgroup";
    case v1::DIMENSION_SITE:
      return "site";
    case v1::DIMENSION_STACK:
      return "stack";
    case v1::DIMENSION_NODE:
      return "node";
    default:
      return "what";
  }
}

std::string FrameLine(const v1::Frame& frame) {
  std::string binary = frame.binary();
  if (const size_t slash = binary.rfind('/'); slash != std::string::npos)
    binary = binary.substr(slash + 1);
  const bool named = frame.name().rfind(binary + "+0x", 0) != 0;
  if (frame.kernel() || binary.empty() || !named) return Escaped(frame.name());
  return absl::StrCat(Escaped(frame.name()), " (", Escaped(binary), ")");
}

std::string StackLines(const std::vector<v1::Frame>& frames, const std::string& indent, size_t most,
                       const View& view) {
  std::string out;
  const size_t columns = view.style.columns > 40 ? view.style.columns - Width(indent) : 200;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (i == most && frames.size() > most + 1) {
      absl::StrAppend(&out, indent, "... ", frames.size() - most, " more frames\n");
      break;
    }
    absl::StrAppend(&out, indent, Shortened(FrameLine(frames[i]), columns), "\n");
  }
  return out;
}

std::string RenderTop(const v1::TopAnswer& answer, const View& view) {
  std::string out;
  std::string last;
  std::vector<std::string> quiet;
  for (const v1::TopTable& table : answer.tables()) {
    if (table.state() == v1::VITAL_STATE_UNAVAILABLE) {
      if (VitalText(table) != last) {
        absl::StrAppend(&out, out.empty() ? "" : "\n",
                        Painted(VitalText(table), Ink::kBold, view.style), "  ",
                        Painted("unavailable", Ink::kBad, view.style),
                        table.reason().empty() ? "" : ": ", Escaped(table.reason()), "\n");
      }
      last = VitalText(table);
      continue;
    }
    if (table.total() == 0 && table.events() == 0) {
      if (VitalText(table) != last) quiet.push_back(VitalText(table));
      last = VitalText(table);
      continue;
    }
    if (VitalText(table) != last) {
      absl::StrAppend(&out, out.empty() ? "" : "\n", Heading(table, answer.process(), view));
      last = VitalText(table);
    }
    if (table.rows().empty()) {
      const char* none = table.rows_before() > 0 ? "all rows are on pages before\n"
                         : ByCode(table)         ? "nothing was sampled\n"
                                                 : "none in this time\n";
      absl::StrAppend(&out, "  by ", DimensionText(table.by()), ": ", none);
      continue;
    }
    absl::StrAppend(&out, Rows(table, view));
    if (table.by() == v1::DIMENSION_STACK) {
      int number = 0;
      for (const v1::TopRow& row : table.rows()) {
        absl::StrAppend(
            &out, "    ", ++number, ". ", Quantity(row.value(), table.unit()), "  ",
            Escaped(row.exe()), "\n",
            StackLines({row.stack().begin(), row.stack().end()}, "        ", kStackFrames, view));
      }
    } else if (table.by() == v1::DIMENSION_SITE && !table.rows(0).stack().empty()) {
      absl::StrAppend(&out, "    heaviest stack of the first:\n",
                      StackLines({table.rows(0).stack().begin(), table.rows(0).stack().end()},
                                 "        ", kStackFrames, view));
    }
  }
  if (!quiet.empty())
    absl::StrAppend(&out, out.empty() ? "" : "\n",
                    "nothing in this time: ", absl::StrJoin(quiet, ", "), "\n");
  return absl::StrCat(out, out.empty() ? "" : "\n", RenderCoverage(answer.coverage(), view));
}

}  // namespace telltale::cli
