#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {

std::string RenderFilterSeries(const v1::FilterSeriesAnswer& answer, const View& view) {
  std::string out;
  for (const v1::FilterSeries& series : answer.series()) {
    absl::StrAppend(&out, out.empty() ? "" : "\n",
                    Painted(Escaped(series.series()), Ink::kBold, view.style), "  ",
                    Escaped(series.node()), "  ", Escaped(series.vital()),
                    series.sub().empty() ? "" : absl::StrCat("/", Escaped(series.sub())), "\n");
    Table table({{"time"}, {"value", Table::Align::kRight}});
    for (int i = 0; i < std::min(series.time_s_size(), series.value_size()); ++i) {
      table.Add(
          {MomentText(series.time_s(i), view.zone), absl::StrFormat("%.6g", series.value(i))});
    }
    out += table.Render(view.style);
  }
  out += out.empty() ? "this filter emitted no series in this time\n" : ZoneLine(view);
  if (answer.left_out() > 0) {
    absl::StrAppend(&out, "and ", Plural(static_cast<double>(answer.left_out()), "point"),
                    " more; ask for a shorter time, fewer nodes or a higher --limit\n");
  }
  return absl::StrCat(out, "\n", RenderCoverage(answer.coverage(), view));
}

}  // namespace telltale::cli
