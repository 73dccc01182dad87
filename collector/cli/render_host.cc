#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

// "4 CPUs, 15.6 GiB of memory, no swap"
std::string SizeText(const v1::HostLevels& host) {
  const std::string cpus =
      host.cpus() > 0 ? absl::StrCat(Plural(host.cpus(), "CPU"), ", ") : std::string();
  if (host.memory_bytes() == 0) return absl::StrCat(cpus, "memory not known");
  return absl::StrCat(cpus, Quantity(host.memory_bytes(), "bytes"), " of memory, ",
                      host.swap_bytes() > 0
                          ? absl::StrCat(Quantity(host.swap_bytes(), "bytes"), " of swap")
                          : std::string("no swap"));
}

std::string LevelText(double value, const std::string& unit) {
  if (unit == "share") return Share(value);
  return unit == "tasks" ? Count(value) : Quantity(value, unit);
}

// What allocations of pages in a row could still take; powers of two.
std::string FreeBlocksText(const v1::HostLevels& host, const View& view) {
  if (host.free_blocks().empty()) return "";
  std::vector<Table::Column> columns = {{"pages in a row"}};
  std::vector<std::string> counts = {"free blocks"};
  double pages = 1;
  for (const double blocks : host.free_blocks()) {
    columns.push_back({Count(pages), Table::Align::kRight});
    counts.push_back(Count(blocks));
    pages *= 2;
  }
  Table table(std::move(columns));
  table.Add(std::move(counts));
  return absl::StrCat("  when the least memory was available, ",
                      ClockText(host.tightest_s(), view.now, view.zone), ":\n",
                      table.Render(view.style, "  "));
}

}  // namespace

std::string RenderHost(const v1::HostLevelsAnswer& answer, const View& view) {
  using Align = Table::Align;
  const auto clock = [&](double time_s) { return ClockText(time_s, view.now, view.zone); };
  std::string out;
  for (const v1::HostLevels& host : answer.hosts()) {
    absl::StrAppend(&out, out.empty() ? "" : "\n",
                    Painted(Escaped(host.node()), Ink::kBold, view.style), "  ", SizeText(host),
                    "\n");
    Table table({{""},
                 {"lowest", Align::kRight},
                 {"at"},
                 {"mean", Align::kRight},
                 {"highest", Align::kRight},
                 {"at"},
                 {"last", Align::kRight}});
    for (const v1::HostLevel& level : host.levels()) {
      const auto text = [&](double value) { return LevelText(value, Escaped(level.unit())); };
      const bool steady = level.low() == level.high();
      table.Add({Escaped(level.name()), text(level.low()), steady ? "" : clock(level.low_s()),
                 text(level.mean()), text(level.high()), steady ? "" : clock(level.high_s()),
                 text(level.last())});
    }
    absl::StrAppend(&out, table.Render(view.style, "  "), FreeBlocksText(host, view));
  }
  out += out.empty() ? "no levels in this time\n" : ZoneLine(view);
  if (answer.left_out() > 0) {
    absl::StrAppend(&out, "\n", Plural(answer.left_out(), "host"),
                    " with more memory available not shown; see --limit\n");
  }
  return absl::StrCat(out, "\n", RenderCoverage(answer.coverage(), view));
}

}  // namespace telltale::cli
