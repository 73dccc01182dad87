#include "collector/formats/csv_answers.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "collector/formats/csv.h"
#include "collector/formats/folded.h"

namespace telltale::formats {
namespace {

using google::protobuf::RepeatedPtrField;
using Titles = std::vector<std::string_view>;

// What rows rest on, at the end of each.
class Basis {
 public:
  explicit Basis(const v1::Coverage& coverage) : coverage_(coverage) {
    for (const v1::ReasonCount& lost : coverage.lost_events()) lost_ += lost.events();
  }
  static Titles After(Titles titles) {
    for (const char* title : {"watched_s", "selected_s", "lost_events"}) titles.push_back(title);
    return titles;
  }
  void Add(Csv& csv) const {
    csv.Number(coverage_.watched_s()).Number(coverage_.selected_s()).Number(lost_);
  }
  void EndRow(Csv& csv) const {
    Add(csv);
    csv.EndRow();
  }

 private:
  const v1::Coverage& coverage_;
  double lost_ = 0;
};

std::string DimensionText(v1::Dimension by) {
  constexpr size_t kPrefix = sizeof("DIMENSION_") - 1;
  const std::string& name = v1::Dimension_Name(by);
  return name.size() > kPrefix ? absl::AsciiStrToLower(name.substr(kPrefix)) : "";
}

std::string Path(const RepeatedPtrField<v1::Frame>& frames) {
  return FoldedPath("", frames.begin(), frames.end());
}

std::string Values(const RepeatedPtrField<v1::NamedValue>& values) {
  std::string out;
  for (const v1::NamedValue& value : values) {
    absl::StrAppend(&out, out.empty() ? "" : "; ", value.name(), " ", value.value());
  }
  return out;
}

void Who(const v1::TopRow& row, Csv& csv) {
  csv.Text(row.name()).Text(row.exe()).Text(row.node());
  row.pid() != 0 ? csv.Number(row.pid()) : csv.Empty();
  csv.Text(row.user()).Text(row.cgroup());
}

}  // namespace

std::string CsvOf(const v1::TopAnswer& answer) {
  Csv csv(Basis::After({"vital", "sub", "unit", "by", "name", "exe", "node", "pid", "uid", "cgroup",
                        "value", "low", "high", "share", "samples", "open", "exact", "stack"}));
  const Basis basis(answer.coverage());
  for (const v1::TopTable& table : answer.tables()) {
    const auto begin = [&] {
      csv.Text(table.vital()).Text(table.sub()).Text(table.unit()).Text(DimensionText(table.by()));
    };
    const auto rest = [&](const char* name, double value) {
      begin();
      v1::TopRow row;
      row.set_name(name);
      Who(row, csv);
      csv.Number(value).Empty().Empty().Number(table.total() > 0 ? value / table.total() : 0);
      csv.Empty().Empty().Flag(table.exact()).Empty();
      basis.EndRow(csv);
    };
    if (table.rows_before() > 0) rest("(pages before)", table.before());
    for (const v1::TopRow& row : table.rows()) {
      begin();
      Who(row, csv);
      csv.Number(row.value()).Number(row.low()).Number(row.high()).Number(row.share());
      csv.Number(row.samples()).Flag(row.open()).Flag(table.exact()).Text(Path(row.stack()));
      basis.EndRow(csv);
    }
    rest("(other)", table.other());
  }
  return csv.bytes();
}

std::string CsvOf(const v1::DiffAnswer& answer) {
  Titles titles = Basis::After({"vital",
                                "sub",
                                "unit",
                                "by",
                                "name",
                                "exe",
                                "node",
                                "pid",
                                "uid",
                                "cgroup",
                                "value",
                                "low",
                                "high",
                                "against",
                                "against_low",
                                "against_high",
                                "difference",
                                "difference_low",
                                "difference_high",
                                "certain",
                                "scale"});
  // The other side's stand behind.
  for (const char* title : {"against_watched_s", "against_selected_s", "against_lost_events"}) {
    titles.push_back(title);
  }
  Csv csv(titles);
  const Basis basis(answer.coverage()), against(answer.against_coverage());
  for (const v1::DiffTable& table : answer.tables()) {
    for (const v1::DiffRow& row : table.rows()) {
      csv.Text(table.vital()).Text(table.sub()).Text(table.unit()).Text(DimensionText(table.by()));
      Who(row.row(), csv);
      for (const v1::TopRow* side : {&row.row(), &row.against()}) {
        csv.Number(side->value()).Number(side->low()).Number(side->high());
      }
      csv.Number(row.difference()).Number(row.difference_low()).Number(row.difference_high());
      csv.Flag(row.certain()).Number(answer.scale());
      basis.Add(csv);
      against.EndRow(csv);
    }
  }
  return csv.bytes();
}

std::string CsvOf(const v1::SeriesAnswer& answer) {
  Csv csv(Basis::After({"vital", "sub", "node", "unit", "start", "length_s", "rate_per_s",
                        "events_per_s", "lowest_second", "highest_second", "watched", "backlog",
                        "low_per_s", "high_per_s"}));
  const Basis basis(answer.coverage());
  for (const v1::Series& series : answer.series()) {
    for (int i = 0; i < series.rate_size(); ++i) {
      const auto number = [&](const google::protobuf::RepeatedField<double>& column) {
        i < column.size() ? csv.Number(column.Get(i)) : csv.Empty();
      };
      csv.Text(series.vital()).Text(series.sub()).Text(series.node()).Text(series.unit());
      csv.Time(series.start_s(i));
      const bool bounds = i < series.bounds_size() && series.bounds(i);
      for (const auto* column :
           {&series.length_s(), &series.rate(), &series.events(), &series.min(), &series.max(),
            &series.watched(), &series.backlog(), &series.low(), &series.high()}) {
        // A column of seconds holds seconds that were, no bounds.
        if (bounds && (column == &series.min() || column == &series.max())) {
          csv.Empty();
        } else {
          number(*column);
        }
      }
      basis.EndRow(csv);
    }
  }
  return csv.bytes();
}

std::string CsvOf(const v1::SamplesAnswer& answer) {
  Csv csv(Basis::After({"time", "node",  "vital",   "sub",          "unit",      "weight",
                        "low",  "high",  "samples", "exe",          "comm",      "pid",
                        "tid",  "uid",   "cgroup",  "container",    "pod_uid",   "cpu",
                        "open", "label", "event",   "kernel_stack", "user_stack"}));
  const Basis basis(answer.coverage());
  for (const v1::SampleAnswer& sample : answer.samples()) {
    csv.Time(sample.time_s()).Text(sample.node()).Text(sample.vital()).Text(sample.sub());
    csv.Text(sample.unit()).Number(sample.weight()).Number(sample.low()).Number(sample.high());
    csv.Number(sample.samples()).Text(sample.exe()).Text(sample.comm()).Number(sample.pid());
    csv.Number(sample.tid()).Number(sample.uid()).Text(sample.cgroup()).Text(sample.container());
    csv.Text(sample.pod_uid()).Number(sample.cpu()).Flag(sample.open());
    csv.Text(Values(sample.label())).Text(Values(sample.detail()));
    csv.Text(Path(sample.kernel_stack())).Text(Path(sample.user_stack()));
    basis.EndRow(csv);
  }
  return csv.bytes();
}

std::string CsvOf(const v1::StacksAnswer& answer) {
  Csv csv(Basis::After(
      {"vital", "sub", "unit", "exe", "stack", "value", "low", "high", "samples", "end"}));
  const Basis basis(answer.coverage());
  for (const v1::StackWeight& stack : answer.stacks()) {
    csv.Text(answer.vital()).Text(answer.sub()).Text(answer.unit()).Text(stack.exe());
    csv.Text(Path(stack.frames())).Number(stack.value()).Number(stack.low());
    csv.Number(stack.high()).Number(stack.samples()).Text(stack.end());
    basis.EndRow(csv);
  }
  return csv.bytes();
}

std::string CsvOf(const v1::HistogramAnswer& answer) {
  Csv csv(Basis::After({"name", "unit", "low", "high", "count", "share_of_time"}));
  const Basis basis(answer.coverage());
  for (const v1::HistogramValues& histogram : answer.histograms()) {
    for (int i = 0; i < histogram.count_size(); ++i) {
      csv.Text(histogram.name()).Text(histogram.unit()).Number(histogram.low(i));
      csv.Number(histogram.high(i)).Number(histogram.count(i)).Number(histogram.share());
      basis.EndRow(csv);
    }
  }
  return csv.bytes();
}

std::string CsvOf(const v1::HostLevelsAnswer& answer) {
  Csv csv(Basis::After({"node", "name", "unit", "low", "low_time", "mean", "high", "high_time",
                        "last", "memory_bytes", "swap_bytes", "cpus"}));
  const Basis basis(answer.coverage());
  for (const v1::HostLevels& host : answer.hosts()) {
    for (const v1::HostLevel& level : host.levels()) {
      csv.Text(host.node()).Text(level.name()).Text(level.unit()).Number(level.low());
      csv.Time(level.low_s()).Number(level.mean()).Number(level.high()).Time(level.high_s());
      csv.Number(level.last()).Number(host.memory_bytes()).Number(host.swap_bytes());
      csv.Number(host.cpus());
      basis.EndRow(csv);
    }
  }
  return csv.bytes();
}

std::string CsvOf(const v1::EventsAnswer& answer) {
  Csv csv(Basis::After({"time", "node", "type", "exe", "comm", "pid", "uid", "count", "event"}));
  const Basis basis(answer.coverage());
  for (const v1::EventAnswer& event : answer.events()) {
    csv.Time(event.time_s()).Text(event.node()).Text(event.type()).Text(event.exe());
    csv.Text(event.comm()).Number(event.pid()).Number(event.uid()).Number(event.count());
    csv.Text(event.text());
    basis.EndRow(csv);
  }
  return csv.bytes();
}

std::string CsvOf(const v1::AnomaliesAnswer& answer) {
  Csv csv(Basis::After({"start", "end", "node", "vital", "sub", "filter", "value", "expected",
                        "deviation", "severity", "text"}));
  const Basis basis(answer.coverage());
  for (const v1::Anomaly& anomaly : answer.anomalies()) {
    csv.Time(anomaly.start_s()).Time(anomaly.end_s()).Text(anomaly.node()).Text(anomaly.vital());
    csv.Text(anomaly.sub()).Text(anomaly.filter()).Number(anomaly.value());
    csv.Number(anomaly.expected()).Number(anomaly.deviation()).Number(anomaly.severity());
    csv.Text(anomaly.text());
    basis.EndRow(csv);
  }
  return csv.bytes();
}

std::string CsvOf(const v1::FilterSeriesAnswer& answer) {
  Csv csv(Basis::After({"time", "node", "filter", "series", "vital", "sub", "value"}));
  const Basis basis(answer.coverage());
  for (const v1::FilterSeries& series : answer.series()) {
    for (int i = 0; i < std::min(series.time_s_size(), series.value_size()); ++i) {
      csv.Time(series.time_s(i)).Text(series.node()).Text(series.filter()).Text(series.series());
      csv.Text(series.vital()).Text(series.sub()).Number(series.value(i));
      basis.EndRow(csv);
    }
  }
  return csv.bytes();
}

std::string CsvOf(const v1::ListAuditAnswer& answer) {
  Csv csv({"time", "who", "address", "action", "detail", "refused", "unlisted", "count"});
  for (const v1::AuditEntry& entry : answer.entries()) {
    csv.Time(entry.time_s()).Text(entry.who()).Text(entry.address()).Text(entry.action());
    csv.Text(entry.detail()).Flag(entry.refused());
    csv.Number(static_cast<double>(entry.unlisted()));
    csv.Number(static_cast<double>(entry.count())).EndRow();
  }
  return csv.bytes();
}

}  // namespace telltale::formats
