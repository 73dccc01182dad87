#include "collector/filter/series_list.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "telltale/v1/filter.pb.h"

namespace telltale::filter {
namespace {

// node, series, vital, sub, version of the filter
using Key = std::tuple<std::string, std::string, std::string, std::string, uint32_t>;

bool Matches(const v1::FilterPoints& points, const SeriesQuery& query) {
  if (!query.series.empty() && query.series != points.series()) return false;
  return query.vital.empty() || query.vital == points.vital() ||
         query.vital == absl::StrCat(points.vital(), "/", points.sub());
}

}  // namespace

absl::StatusOr<v1::FilterSeriesAnswer> ListSeries(storage::DerivedStore* store,
                                                  const std::vector<FilterIdentity>& versions,
                                                  const SeriesQuery& query) {
  std::vector<uint32_t> numbers;
  for (const FilterIdentity& filter : versions) {
    const auto number = store->FilterNumber(filter.name, filter.version);
    if (!number.ok()) return number.status();
    numbers.push_back(*number);
  }
  v1::FilterSeriesAnswer answer;
  std::map<Key, v1::FilterSeries> series;
  absl::Status damaged;
  size_t points_kept = 0;
  size_t place = 0;  // of the version being read
  const auto visit = [&](const storage::DerivedKey& key, std::string_view value) {
    if (query.cancelled()) return false;
    const auto node = query.node_name(key.node);
    if (!node.has_value()) return true;
    v1::FilterHour hour;
    if (!hour.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      damaged =
          absl::DataLossError(absl::StrCat("filter series: the outputs of ", versions[place].name,
                                           " for node ", *node, " are damaged"));
      return false;
    }
    if (hour.points().empty()) return true;
    if (IsReplaced(*store, std::span(numbers).first(place), key, hour)) return true;
    for (const v1::FilterPoints& points : hour.points()) {
      if (!Matches(points, query)) continue;
      v1::FilterSeries* of = nullptr;
      for (int i = 0; i < std::min(points.time_ns_size(), points.value_micro_size()); ++i) {
        if (points.time_ns(i) < query.from_ns || points.time_ns(i) >= query.to_ns) continue;
        if (points_kept >= query.limit) {
          answer.set_left_out(answer.left_out() + 1);
          continue;
        }
        if (of == nullptr) {
          of = &series[{*node, points.series(), points.vital(), points.sub(),
                        versions[place].version}];
        }
        of->add_time_s(static_cast<double>(points.time_ns(i)) / 1e9);
        of->add_value(static_cast<double>(points.value_micro(i)) / 1e6);
        ++points_kept;
      }
    }
    return true;
  };
  // Points lie between the first epoch that a filter was shown and the end of the current one: an
  // hour's may be of before it.
  constexpr uint64_t kHour = storage::kHourNs;
  const uint64_t hour_ns = query.from_ns - query.from_ns % kHour;
  uint64_t unreadable = 0;
  // The oldest version first: what is beyond the limit is the newest.
  for (place = numbers.size(); place-- > 0;) {
    const auto read =
        store->ForEach(numbers[place], hour_ns, query.to_ns + kHour, visit, &unreadable);
    if (!read.ok()) return read;
    if (query.cancelled()) return absl::CancelledError("filter series: the asker went away");
    if (!damaged.ok()) return damaged;
  }
  if (unreadable != 0) {
    answer.mutable_coverage()->add_notes(absl::StrCat(
        "about ", unreadable, " node-hours of what filters found unreadable and left out"));
  }
  for (auto& [key, of] : series) {
    v1::FilterSeries& added = *answer.add_series();
    // Late hours may hold points of earlier ones.
    std::vector<std::pair<double, double>> points;
    for (int i = 0; i < of.time_s_size(); ++i) points.emplace_back(of.time_s(i), of.value(i));
    std::ranges::stable_sort(points, {}, &std::pair<double, double>::first);
    for (const auto& [time_s, value] : points) {
      added.add_time_s(time_s);
      added.add_value(value);
    }
    added.set_filter(versions.front().name);
    added.set_filter_version(std::get<4>(key));
    std::string* const names[] = {added.mutable_node(), added.mutable_series(),
                                  added.mutable_vital(), added.mutable_sub()};
    std::tie(*names[0], *names[1], *names[2], *names[3], std::ignore) = key;
  }
  return answer;
}

}  // namespace telltale::filter
