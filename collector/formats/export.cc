#include "collector/formats/export.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/formats/csv_answers.h"
#include "collector/formats/escape.h"
#include "collector/formats/flame_svg.h"
#include "collector/formats/folded.h"
#include "collector/formats/pprof.h"

namespace telltale::formats {
namespace {

using google::protobuf::Message;
using Maker = absl::StatusOr<std::string> (*)(const Message&);

// Called only with messages of that type: the table below is keyed by it.
template <typename Answer>
absl::StatusOr<std::string> Csv(const Message& answer) {
  return CsvOf(static_cast<const Answer&>(answer));
}
template <typename Answer>
absl::StatusOr<std::string> Folded(const Message& answer) {
  return FoldedOf(static_cast<const Answer&>(answer));
}
absl::StatusOr<std::string> Svg(const Message& answer) {
  return FlameSvgOf(static_cast<const v1::FlameAnswer&>(answer));
}
absl::StatusOr<std::string> Pprof(const Message& answer) {
  return PprofOf(static_cast<const v1::StacksAnswer&>(answer));
}

std::map<std::string, Maker, std::less<>> MakersFor(const Message& answer) {
  const auto* type = answer.GetDescriptor();
  if (type == v1::TopAnswer::descriptor()) return {{"csv", &Csv<v1::TopAnswer>}};
  if (type == v1::DiffAnswer::descriptor()) return {{"csv", &Csv<v1::DiffAnswer>}};
  if (type == v1::SeriesAnswer::descriptor()) return {{"csv", &Csv<v1::SeriesAnswer>}};
  if (type == v1::SamplesAnswer::descriptor()) return {{"csv", &Csv<v1::SamplesAnswer>}};
  if (type == v1::HistogramAnswer::descriptor()) return {{"csv", &Csv<v1::HistogramAnswer>}};
  if (type == v1::HostLevelsAnswer::descriptor()) return {{"csv", &Csv<v1::HostLevelsAnswer>}};
  if (type == v1::EventsAnswer::descriptor()) return {{"csv", &Csv<v1::EventsAnswer>}};
  if (type == v1::AnomaliesAnswer::descriptor()) return {{"csv", &Csv<v1::AnomaliesAnswer>}};
  if (type == v1::FilterSeriesAnswer::descriptor()) {
    return {{"csv", &Csv<v1::FilterSeriesAnswer>}};
  }
  if (type == v1::ListAuditAnswer::descriptor()) return {{"csv", &Csv<v1::ListAuditAnswer>}};
  if (type == v1::FlameAnswer::descriptor()) {
    return {{"folded", &Folded<v1::FlameAnswer>}, {"svg", &Svg}};
  }
  if (type == v1::StacksAnswer::descriptor()) {
    return {
        {"csv", &Csv<v1::StacksAnswer>}, {"folded", &Folded<v1::StacksAnswer>}, {"pprof", &Pprof}};
  }
  return {};
}

}  // namespace

absl::Status Check(const Message& answer, std::string_view format) {
  const auto makers = MakersFor(answer);
  if (makers.contains(format)) return absl::OkStatus();
  std::vector<std::string> known = {"json"};
  for (const auto& [name, maker] : makers) known.push_back(name);
  return absl::InvalidArgumentError(absl::StrCat("format \"", Escaped(format.substr(0, 32)),
                                                 "\": this answer comes as ",
                                                 absl::StrJoin(known, ", ")));
}

absl::StatusOr<File> Export(const Message& answer, std::string_view format) {
  if (absl::Status status = Check(answer, format); !status.ok()) return status;
  const auto makers = MakersFor(answer);
  const auto maker = makers.find(format);
  absl::StatusOr<std::string> bytes = maker->second(answer);
  if (!bytes.ok()) return bytes.status();
  File file{*std::move(bytes), "text/plain; charset=utf-8", ".folded"};
  if (format == "csv") file.content_type = "text/csv; charset=utf-8", file.extension = ".csv";
  if (format == "svg") file.content_type = "image/svg+xml", file.extension = ".svg";
  if (format == "pprof") file.content_type = "application/gzip", file.extension = ".pb.gz";
  return file;
}

}  // namespace telltale::formats
