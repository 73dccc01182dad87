#include "agent/epoch/label_bounds.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sketch/saturating.h"
#include "sketch/sketch.h"
#include "sketch/vital_ids.h"

namespace telltale::agent {
namespace {

uint64_t HighOf(const FoldedLabel& label, const RawVital& vital, uint64_t total) {
  const bool shaped = std::has_single_bit(vital.columns) && vital.columns > 1 &&
                      vital.cells.size() == uint64_t{vital.rows} * vital.columns;
  if (!shaped || label.more_hashes) return total;
  uint64_t high = total;
  std::vector<uint32_t> columns;
  for (uint32_t row = 0; row < vital.rows; ++row) {
    columns.clear();
    for (const uint64_t hash : label.hashes) {
      columns.push_back(sketch::Column(hash, row, vital.columns));
    }
    std::ranges::sort(columns);
    columns.erase(std::ranges::unique(columns).begin(), columns.end());
    uint64_t sum = 0;
    for (const uint32_t c : columns) {
      sum = sketch::SaturatingAdd(sum, vital.cells[uint64_t{row} * vital.columns + c]);
    }
    high = std::min(high, sum);
  }
  return high;
}

}  // namespace

std::vector<Bounds> BoundLabels(const FoldedEpoch& epoch, const RawEpoch& raw) {
  std::array<const RawVital*, TELLTALE_MAX_VITAL + 1> by_id{};
  std::array<uint64_t, TELLTALE_MAX_VITAL + 1> totals{};
  for (const RawVital& vital : raw.vitals) {
    if (vital.id >= by_id.size()) continue;
    by_id[vital.id] = &vital;
    for (const RawSub& sub : vital.subs) {
      totals[vital.id] = sketch::SaturatingAdd(totals[vital.id], sub.weight);
    }
  }
  std::vector<Bounds> bounds;
  bounds.reserve(epoch.labels.size());
  for (const FoldedLabel& label : epoch.labels) {
    const RawVital* vital = by_id[label.vital];
    const uint64_t low = label.sampled_weight;
    const uint64_t high = vital == nullptr ? low : HighOf(label, *vital, totals[label.vital]);
    bounds.push_back({low, std::max(low, high)});
  }
  return bounds;
}

}  // namespace telltale::agent
