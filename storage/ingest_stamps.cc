#include "storage/ingest_stamps.h"

#include <algorithm>

#include "storage/keys.h"

namespace telltale::storage {

void IngestStamps::Touch(uint32_t node, uint64_t time_ns) {
  const uint64_t hour = time_ns / kHourNs;
  std::lock_guard<std::mutex> lock(mutex_);
  Group& group = groups_[node / kLineGroupNodes];
  ++changes_;
  if (hour <= group.folded_hour && group.folded_number != 0) {
    group.folded_number = changes_;
    return;
  }
  group.hours[hour] = changes_;
  if (group.hours.size() <= kMaxHours) return;
  const auto oldest = group.hours.begin();
  group.folded_hour = oldest->first;
  group.folded_number = std::max(group.folded_number, oldest->second);
  group.hours.erase(oldest);
}

void IngestStamps::TouchAll(uint32_t node) {
  std::lock_guard<std::mutex> lock(mutex_);
  groups_[node / kLineGroupNodes].all = ++changes_;
}

uint64_t IngestStamps::Group::Highest(uint64_t first_hour, uint64_t last_hour) const {
  uint64_t highest = all;
  if (first_hour <= folded_hour) highest = std::max(highest, folded_number);
  for (auto hour = hours.lower_bound(first_hour); hour != hours.end() && hour->first <= last_hour;
       ++hour) {
    highest = std::max(highest, hour->second);
  }
  return highest;
}

uint64_t IngestStamps::Highest(const std::vector<uint32_t>& groups, uint64_t from_ns,
                               uint64_t to_ns) const {
  if (to_ns <= from_ns) return 0;
  const uint64_t first = from_ns / kHourNs, last = (to_ns - 1) / kHourNs;
  uint64_t highest = 0;
  std::lock_guard<std::mutex> lock(mutex_);
  if (groups.empty()) {
    for (const auto& [number, group] : groups_)
      highest = std::max(highest, group.Highest(first, last));
  }
  for (const uint32_t number : groups) {
    const auto group = groups_.find(number);
    if (group != groups_.end()) highest = std::max(highest, group->second.Highest(first, last));
  }
  return highest;
}

}  // namespace telltale::storage
