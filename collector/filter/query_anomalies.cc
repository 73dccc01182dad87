#include "collector/filter/query_anomalies.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/filter/series_list.h"
#include "collector/formats/next_command.h"
#include "collector/query/nearest.h"

namespace telltale::filter {
namespace {

constexpr size_t kDefaultLimit = 100;
constexpr size_t kMaxLimit = 10'000;
// Days of nodes to be sought each by itself; of more, all that is stored is read through.
constexpr uint64_t kFewNodeDays = 2'000;
constexpr uint32_t kUsualPoints = 10'000, kMaxPoints = 100'000;

absl::Status Unknown(const char* what, const std::string& filter,
                     const std::vector<FilterIdentity>& filters) {
  std::vector<std::string> known;  // each once, however many versions it has
  for (const FilterIdentity& one : filters) {
    if (one.name == filter) return absl::OkStatus();
    if (std::ranges::count(known, one.name) == 0) known.push_back(one.name);
  }
  return absl::NotFoundError(absl::StrCat(what, ": filter \"", filter.substr(0, 64),
                                          "\" is unknown", query::NearestHint(filter, known)));
}

// Nodes of the selection by number.
std::function<std::optional<std::string>(uint32_t)> NameIn(const query::Selection& selection) {
  std::map<uint32_t, std::string> names;
  for (const storage::NodeRecord& node : selection.nodes) names[node.number()] = node.name();
  return [names = std::move(names)](uint32_t node) -> std::optional<std::string> {
    const auto found = names.find(node);
    if (found == names.end()) return std::nullopt;
    return found->second;
  };
}

}  // namespace

absl::StatusOr<v1::AnomaliesAnswer> QueryAnomalies::List(const v1::AnomaliesRequest& request,
                                                         const query::Selection& selection,
                                                         const query::Cancelled& cancelled) const {
  const auto filters = Filters();
  if (!filters.ok()) return filters.status();
  if (!request.filter().empty()) {
    const auto unknown = Unknown("anomalies", request.filter(), *filters);
    if (!unknown.ok()) return unknown;
  }
  std::unordered_set<std::string_view> selected;
  for (const storage::NodeRecord& node : selection.nodes) selected.insert(node.name());
  AnomalyQuery asked;
  asked.from_ns = selection.start_ns;
  asked.to_ns = selection.end_ns;
  asked.node_name = NameIn(selection);
  const uint64_t days = (selection.end_ns - selection.start_ns) / storage::kDayNs + 2;
  if (selection.nodes.size() <= kFewNodeDays / days) {
    for (const storage::NodeRecord& node : selection.nodes) asked.nodes.push_back(node.number());
  }
  if (cancelled) asked.cancelled = cancelled;
  asked.vital = request.vital();
  asked.filter = request.filter();
  asked.min_severity = request.min_severity();
  asked.limit = request.limit() == 0 ? kDefaultLimit : std::min<size_t>(request.limit(), kMaxLimit);
  asked.page = request.page();
  auto page = ListAnomalies(store_, *filters, asked);
  if (!page.ok()) return page.status();
  v1::AnomaliesAnswer answer;
  for (v1::Anomaly& anomaly : page->anomalies) {
    anomaly.set_next(formats::CompletedCommand(anomaly.next(), anomaly.node(), anomaly.start_s(),
                                               anomaly.end_s()));
    *answer.add_anomalies() = std::move(anomaly);
  }
  for (v1::FilterLearning& learning : learning_()) {
    if (!selected.contains(learning.node())) continue;
    if (!request.filter().empty() && request.filter() != learning.filter()) continue;
    *answer.add_learning() = std::move(learning);
  }
  answer.set_next_page(page->next_page);
  if (page->unreadable != 0) {
    answer.mutable_coverage()->add_notes(
        absl::StrCat("about ", page->unreadable,
                     " node-hours of what filters found unreadable and left out: anomalies of "
                     "this time may be missing"));
  }
  return answer;
}

absl::StatusOr<v1::FilterSeriesAnswer> QueryAnomalies::Series(
    const v1::FilterSeriesRequest& request, const query::Selection& selection,
    const query::Cancelled& cancelled) const {
  auto filters = Filters();
  if (!filters.ok()) return filters.status();
  if (auto unknown = Unknown("filter series", request.filter(), *filters); !unknown.ok()) {
    return unknown;
  }
  if (request.limit() > kMaxPoints) {
    return absl::InvalidArgumentError(absl::StrCat("filter series: limit ", request.limit(),
                                                   " is above ", kMaxPoints,
                                                   "; narrow time, nodes or series"));
  }
  SeriesQuery asked;
  asked.from_ns = selection.start_ns;
  asked.to_ns = selection.end_ns;
  asked.node_name = NameIn(selection);
  asked.series = request.series();
  asked.vital = request.vital();
  asked.limit = request.limit() == 0 ? kUsualPoints : request.limit();
  if (cancelled) asked.cancelled = cancelled;
  std::erase_if(*filters, [&](const FilterIdentity& one) { return one.name != request.filter(); });
  return ListSeries(store_, *filters, asked);
}

}  // namespace telltale::filter
