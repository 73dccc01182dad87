#include "collector/filter/anomaly_list.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "collector/filter/anomaly_log.h"
#include "telltale/v1/filter.pb.h"

namespace telltale::filter {
namespace {

bool Matches(const v1::FilterAnomaly& anomaly, const AnomalyQuery& query) {
  if (anomaly.start_ns() >= query.to_ns) return false;
  if (!anomaly.open() && anomaly.end_ns() <= query.from_ns) return false;
  if (std::abs(static_cast<double>(anomaly.severity_milli())) < query.min_severity * 1e3) {
    return false;
  }
  return query.vital.empty() || query.vital == anomaly.vital() ||
         query.vital == absl::StrCat(anomaly.vital(), "/", anomaly.sub());
}

// Where a page begins: behind this anomaly. "START_NS ID" of the last one shown. Newest first.
struct Position {
  uint64_t start_ns = 0;
  std::string id;
  bool operator<(const Position& other) const {
    return start_ns != other.start_ns ? start_ns > other.start_ns : id < other.id;
  }
};

absl::StatusOr<Position> ParsePage(const std::string& page) {
  Position position;
  if (page.empty()) return position;
  const size_t space = page.find(' ');
  if (space == std::string::npos || !absl::SimpleAtoi(page.substr(0, space), &position.start_ns)) {
    return absl::InvalidArgumentError(
        "list anomalies: page is not one that an answer gave; ask without it for the first");
  }
  position.id = page.substr(space + 1);
  return position;
}

}  // namespace

absl::StatusOr<AnomalyPage> ListAnomalies(storage::DerivedStore* store,
                                          const std::vector<FilterIdentity>& filters,
                                          const AnomalyQuery& query) {
  const auto after = ParsePage(query.page);
  if (!after.ok()) return after.status();
  const size_t limit = std::max<size_t>(query.limit, 1);
  AnomalyPage page;
  // The first `limit` + 1 behind `after`, as a heap with the last of them in front.
  std::vector<std::pair<Position, v1::Anomaly>> best;
  const auto order = [](const auto& a, const auto& b) { return a.first < b.first; };
  absl::Status damaged;
  std::map<std::string, std::vector<uint32_t>> read_by_name;  // numbers of filters
  const uint64_t day_before = query.from_ns - std::min(query.from_ns, storage::kDayNs);
  for (const FilterIdentity& filter : filters) {
    if (!query.filter.empty() && query.filter != filter.name) continue;
    const auto number = store->FilterNumber(filter.name, filter.version);
    if (!number.ok()) return number.status();
    // Of most versions that no longer run nothing is stored of the time.
    if (!filter.runs && !HasOutputs(*store, *number, day_before, query.to_ns)) continue;
    std::vector<uint32_t>& preferred = read_by_name[filter.name];
    const auto add = [&](const std::string& node, const v1::FilterAnomaly& anomaly) {
      if (!Matches(anomaly, query)) return;
      Position position{anomaly.start_ns(), AnomalyId(filter.name, filter.version, node, anomaly)};
      if (!query.page.empty() && !(*after < position)) return;
      best.emplace_back(std::move(position), ToAnswer(filter.name, filter.version, node, anomaly));
      std::ranges::push_heap(best, order);
      if (best.size() <= limit + 1) return;
      std::ranges::pop_heap(best, order);
      best.pop_back();
    };
    // Other versions' rows of the hour are looked for only where there is something to list.
    const auto add_all = [&](const std::string& node, const storage::DerivedKey& key,
                             v1::FilterHour& hour) {
      if (!filter.runs) {
        for (v1::FilterAnomaly& anomaly : *hour.mutable_anomalies()) anomaly.set_open(false);
      }
      const auto matches = [&](const v1::FilterAnomaly& one) { return Matches(one, query); };
      if (std::ranges::none_of(hour.anomalies(), matches)) return;
      if (IsReplaced(*store, preferred, key, hour)) return;
      for (const v1::FilterAnomaly& anomaly : hour.anomalies()) add(node, anomaly);
    };
    // Hours before that in which something began that was still going on in it.
    std::set<std::pair<uint32_t, uint64_t>> earlier;
    const auto visit = [&](const storage::DerivedKey& key, std::string_view value) {
      if (query.cancelled()) return false;
      const auto node = query.node_name(key.node);
      if (!node.has_value()) return true;
      v1::FilterHour hour;
      if (!hour.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
        damaged = absl::DataLossError(absl::StrCat("list anomalies: the outputs of ", filter.name,
                                                   " for node ", *node, " are damaged"));
        return false;
      }
      add_all(*node, key, hour);
      for (const uint64_t open_hour : hour.open_hours()) {
        if (open_hour < day_before) earlier.emplace(key.node, open_hour);
      }
      return true;
    };
    const auto read = query.nodes.empty() ? store->ForEach(*number, day_before, query.to_ns, visit,
                                                           &page.unreadable)
                                          : store->ForEachOf(*number, query.nodes, day_before,
                                                             query.to_ns, visit, &page.unreadable);
    if (!read.ok()) return read;
    if (query.cancelled()) return absl::CancelledError("list anomalies: cancelled");
    if (!damaged.ok()) return damaged;
    for (const auto& [node, hour_start_ns] : earlier) {
      const storage::DerivedKey key{*number, node, hour_start_ns};
      const auto bytes = store->Get(key);
      v1::FilterHour hour;
      // Dropped with its age, or damaged: what began there is known no more.
      if (!bytes.ok() || !hour.ParseFromString(*bytes)) continue;
      add_all(*query.node_name(node), key, hour);
    }
    preferred.push_back(*number);
  }
  std::ranges::sort_heap(best, order);
  for (auto& [position, anomaly] : best) {
    if (page.anomalies.size() == limit) {
      const auto& last = best[limit - 1].first;
      page.next_page = absl::StrCat(last.start_ns, " ", last.id);
      break;
    }
    page.anomalies.push_back(std::move(anomaly));
  }
  return page;
}

}  // namespace telltale::filter
