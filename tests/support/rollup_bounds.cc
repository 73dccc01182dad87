#include "tests/support/rollup_bounds.h"

#include <algorithm>
#include <set>

namespace telltale::testing::oracle {

Listed MergeBounds(const std::vector<Listed>& children, size_t keep) {
  Listed merged;
  std::set<uint64_t> ids;
  uint64_t thresholds = 0;
  uint64_t lows = 0;
  for (const Listed& child : children) {
    merged.total += child.total;
    merged.other += child.other;
    thresholds += std::min(child.threshold, child.total);
    for (const auto& [id, bound] : child.rows) {
      ids.insert(id);
      lows += bound.low;
    }
  }
  for (uint64_t id : ids) {
    Bound sum;
    for (const Listed& child : children) {
      auto it = child.rows.find(id);
      if (it == child.rows.end()) {
        sum.high += std::min(child.threshold, child.total);
      } else {
        sum.low += it->second.low;
        sum.high += std::min(it->second.high, child.total);
        sum.count += it->second.count;
        sum.estimate += it->second.estimate;
      }
    }
    sum.high = std::max(sum.low, std::min(sum.high, Minus(merged.total, lows - sum.low)));
    merged.rows[id] = sum;
  }
  merged.threshold = std::min(thresholds, Minus(merged.total, lows));
  while (merged.rows.size() > keep) {  // put away the least low, of equals the larger id
    auto least = merged.rows.begin();
    for (auto it = merged.rows.begin(); it != merged.rows.end(); ++it) {
      if (it->second.low <= least->second.low) least = it;
    }
    merged.threshold = std::max(merged.threshold, least->second.high);
    merged.other += least->second.count;
    merged.rows.erase(least);
  }
  return merged;
}

std::vector<uint64_t> InOrder(const Listed& list) {
  std::vector<uint64_t> ids;
  for (const auto& [id, bound] : list.rows) ids.push_back(id);
  std::stable_sort(ids.begin(), ids.end(), [&](uint64_t a, uint64_t b) {
    return list.rows.at(a).low > list.rows.at(b).low;
  });
  return ids;
}

}  // namespace telltale::testing::oracle
