#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

constexpr size_t kSeriesBarColumns = 30, kSparkPoints = 32;

std::string NameOf(const v1::Series& series) {
  std::string name =
      series.sub().empty() ? series.vital() : absl::StrCat(series.vital(), "/", series.sub());
  if (!series.node().empty()) absl::StrAppend(&name, " ", series.node());
  return Escaped(name);
}

struct SeriesSummary {
  double mean = 0, min = 0, max = 0, last = 0;
  bool bounds = false;  // min and max are of no second that was
};

bool Bounds(const v1::Series& series, int point) {
  return point < series.bounds_size() && series.bounds(point);
}

// Why a lightest or heaviest second is not there.
std::string BoundsNote(bool any) {
  if (!any) return "";
  return "no figure: so far back the seconds of each kind are kept, not those of their sum; ask a "
         "kind (--vital VITAL/KIND) or a shorter time\n";
}

SeriesSummary SummaryOf(const v1::Series& series) {
  SeriesSummary summary;
  double weight = 0, time = 0;
  for (int i = 0; i < series.rate_size(); ++i) {
    const double watched = series.length_s(i) * series.watched(i);
    weight += series.rate(i) * watched;
    time += watched;
    summary.min = i == 0 ? series.min(i) : std::min(summary.min, series.min(i));
    summary.max = std::max(summary.max, series.max(i));
    summary.last = series.rate(i);
    summary.bounds |= Bounds(series, i);
  }
  summary.mean = time > 0 ? weight / time : 0;
  return summary;
}

// A line of little bars over time; the largest of each stretch.
std::string Spark(const v1::Series& series, double max, const Style& style) {
  if (!style.bars || series.rate_size() == 0 || max <= 0) return "";
  static constexpr const char* kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t points = static_cast<size_t>(series.rate_size());
  const size_t columns = std::min(points, kSparkPoints);
  std::string out;
  for (size_t c = 0; c < columns; ++c) {
    double highest = 0;
    for (size_t i = c * points / columns; i < (c + 1) * points / columns; ++i) {
      highest = std::max(highest, series.rate(static_cast<int>(i)));
    }
    out += kLevels[std::min<size_t>(7, static_cast<size_t>(highest / max * 8))];
  }
  return out;
}

std::string OneSeries(const v1::Series& series, const View& view) {
  using Align = Table::Align;
  double highest = 0;
  for (const double rate : series.rate()) highest = std::max(highest, rate);
  const bool backlog = series.backlog_size() == series.rate_size() && series.backlog_size() > 0;
  // Of a process its seconds are not known, but between what it lies.
  const bool process = series.low_size() == series.rate_size() && series.low_size() > 0;
  // The seconds inside epochs carry weights only.
  const bool events = std::any_of(series.events().begin(), series.events().end(),
                                  [](double rate) { return rate > 0; });
  Table table({{"time"},
               {"for", Align::kRight},
               {"rate", Align::kRight},
               {""},
               {process ? "at least" : "lowest second", Align::kRight},
               {process ? "at most" : "highest second", Align::kRight},
               {events ? "events" : "", Align::kRight},
               {backlog ? "backlog" : "", Align::kRight},
               {"watched", Align::kRight}});
  const auto extreme = [&](double rate, int point) {
    return Bounds(series, point) ? std::string("-") : Rate(rate, series.unit(), series.vital());
  };
  for (int i = 0; i < series.rate_size(); ++i) {
    table.Add({ClockText(series.start_s(i), view.now, view.zone),
               LengthText(std::round(series.length_s(i) * 10) / 10),
               Rate(series.rate(i), series.unit(), series.vital()),
               Bar(highest > 0 ? series.rate(i) / highest : 0, kSeriesBarColumns, view.style),
               extreme(process ? series.low(i) : series.min(i), i),
               extreme(process ? series.high(i) : series.max(i), i),
               events ? absl::StrCat(Count(series.events(i)), " /s") : "",
               backlog ? Count(series.backlog(i)) : "",
               series.watched(i) < 0.995 ? Share(series.watched(i)) : ""});
  }
  return absl::StrCat(Painted(NameOf(series), Ink::kBold, view.style),
                      series.left_out().empty() ? "" : "  (without ",
                      Escaped(absl::StrJoin(series.left_out(), ", ")),
                      series.left_out().empty() ? "" : ")", "\n", table.Render(view.style, "  "),
                      ZoneLine(view), BoundsNote(SummaryOf(series).bounds));
}

}  // namespace

std::string RenderSeries(const v1::SeriesAnswer& answer, const View& view) {
  std::string out;
  if (answer.series_size() == 1) {
    out = OneSeries(answer.series(0), view);
  } else if (answer.series_size() > 1) {
    using Align = Table::Align;
    const bool backlog =
        std::any_of(answer.series().begin(), answer.series().end(),
                    [](const v1::Series& series) { return series.backlog_size() > 0; });
    const bool process = !answer.process().empty();  // its seconds are not known
    Table table({{"series"},
                 {"mean", Align::kRight},
                 {"last", Align::kRight},
                 {process ? "lowest" : "lowest second", Align::kRight},
                 {process ? "highest" : "highest second", Align::kRight},
                 {""},
                 {backlog ? "highest backlog" : "", Align::kRight}});
    bool bounds = false;
    for (const v1::Series& series : answer.series()) {
      const SeriesSummary summary = SummaryOf(series);
      const auto extreme = [&](double rate) {
        return summary.bounds ? std::string("-") : Rate(rate, series.unit(), series.vital());
      };
      bounds |= summary.bounds;
      double highest = 0;
      for (const double rate : series.rate()) highest = std::max(highest, rate);
      table.Add({NameOf(series), Rate(summary.mean, series.unit(), series.vital()),
                 Rate(summary.last, series.unit(), series.vital()), extreme(summary.min),
                 extreme(summary.max), Spark(series, highest, view.style),
                 series.backlog().empty()
                     ? ""
                     : Count(*std::max_element(series.backlog().begin(), series.backlog().end()))});
    }
    out = table.Render(view.style) + BoundsNote(bounds);
  }
  const std::string whose =
      answer.process().empty() ? "" : absl::StrCat("of ", Escaped(answer.process()), " alone\n");
  return absl::StrCat(out.empty() ? "" : whose, out, out.empty() ? "" : "\n",
                      RenderCoverage(answer.coverage(), view));
}

std::string RenderHistogram(const v1::HistogramAnswer& answer, const View& view) {
  using Align = Table::Align;
  std::string out;
  for (const v1::HistogramValues& histogram : answer.histograms()) {
    double total = 0, highest = 0;
    for (const double count : histogram.count()) {
      total += count;
      highest = std::max(highest, count);
    }
    absl::StrAppend(
        &out, out.empty() ? "" : "\n", Painted(Escaped(histogram.name()), Ink::kBold, view.style),
        "  ", Count(total), " ended, ", Count(histogram.entries()), " begun, ",
        Quantity(histogram.sum(), histogram.unit()), " in all; median ",
        Quantity(histogram.p50(), histogram.unit()), ", 90 % ",
        Quantity(histogram.p90(), histogram.unit()), ", 99 % ",
        Quantity(histogram.p99(), histogram.unit()),
        histogram.share() < 0.9995 ? absl::StrCat("; on ", Share(histogram.share()), " of the time")
                                   : "",
        "\n");
    if (answer.histograms_size() > 1) continue;  // one alone is drawn
    Table table({{"from", Align::kRight},
                 {"to", Align::kRight},
                 {"count", Align::kRight},
                 {"", Align::kRight},
                 {""}});
    for (int i = 0; i < histogram.count_size(); ++i) {
      table.Add(
          {Quantity(histogram.low(i), histogram.unit()),
           Quantity(histogram.high(i), histogram.unit()), Count(histogram.count(i)),
           Share(total > 0 ? histogram.count(i) / total : 0),
           Bar(highest > 0 ? histogram.count(i) / highest : 0, kSeriesBarColumns, view.style)});
    }
    absl::StrAppend(&out, table.Render(view.style, "  "));
  }
  if (answer.histograms().empty()) out = "no histogram in this time\n";
  return absl::StrCat(out, "\n", RenderCoverage(answer.coverage(), view));
}

}  // namespace telltale::cli
