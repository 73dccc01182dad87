#include "collector/cli/question.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace telltale::cli {
namespace {

double UnixSeconds(absl::Time time) { return static_cast<double>(absl::ToUnixMicros(time)) * 1e-6; }

}  // namespace

absl::StatusOr<v1::Dimension> ParseDimension(const std::string& text) {
  const std::vector<std::pair<std::string, v1::Dimension>> known = {
      {"", v1::DIMENSION_UNSPECIFIED},  {"process", v1::DIMENSION_PROCESS},
      {"exe", v1::DIMENSION_EXE},       {"user", v1::DIMENSION_USER},
      {"cgroup", v1::DIMENSION_CGROUP}, {"site", v1::DIMENSION_SITE},
      {"stack", v1::DIMENSION_STACK},   {"node", v1::DIMENSION_NODE}};
  std::vector<std::string> names;
  for (const auto& [name, dimension] : known) {
    if (name == text) return dimension;
    if (!name.empty()) names.push_back(name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--by \"", text, "\": must be one of ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::string> OneVital(const Arguments& arguments, const char* command, bool needed) {
  if (arguments.vitals.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(command, ": takes one --vital; ask once for each"));
  }
  if (needed && arguments.vitals.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(command, ": needs --vital, e.g. --vital cpu; `telltale vitals` lists them"));
  }
  return arguments.vitals.empty() ? std::string() : arguments.vitals.front();
}

absl::StatusOr<v1::Selection> AgainstOf(const Arguments& arguments, const v1::Selection& selection,
                                        absl::Time now, absl::TimeZone zone) {
  v1::Selection against = selection;
  if (!arguments.against_nodes.empty() || !arguments.against_labels.empty()) {
    against.clear_nodes();
    against.clear_label_matches();
    for (const std::string& node : arguments.against_nodes) against.add_nodes(node);
    for (const std::string& label : arguments.against_labels) against.add_label_matches(label);
  }
  const double length_s = selection.end_s() - selection.start_s();
  const std::string text = arguments.against == "yesterday" ? "-1d" : arguments.against;
  if (text.empty()) {
    if (!arguments.against_to.empty()) {
      return absl::InvalidArgumentError("--against-to needs --against, where it begins");
    }
    const bool other_nodes = !arguments.against_nodes.empty() || !arguments.against_labels.empty();
    const double earlier_s = other_nodes ? 0 : length_s;
    against.set_start_s(selection.start_s() - earlier_s);
    against.set_end_s(selection.end_s() - earlier_s);
    return against;
  }
  if (text.size() > 1 && text[0] == '-') {
    absl::StatusOr<absl::Duration> earlier = ParseLength(text.substr(1));
    if (!earlier.ok()) return earlier.status();
    against.set_start_s(selection.start_s() - absl::ToDoubleSeconds(*earlier));
  } else {
    absl::StatusOr<absl::Time> start = ParseMoment(text, now, zone);
    if (!start.ok()) return start.status();
    against.set_start_s(UnixSeconds(*start));
  }
  against.set_end_s(against.start_s() + length_s);
  if (!arguments.against_to.empty()) {
    absl::StatusOr<absl::Time> end = ParseMoment(arguments.against_to, now, zone);
    if (!end.ok()) return end.status();
    against.set_end_s(UnixSeconds(*end));
  }
  if (against.start_s() <= 0 || against.end_s() <= against.start_s()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--against \"", arguments.against,
                     "\": what to compare with ends at or before its start, or before 1970"));
  }
  return against;
}

}  // namespace telltale::cli
