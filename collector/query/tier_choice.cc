#include "collector/query/tier_choice.h"

#include <algorithm>

#include "collector/query/base_unit.h"

namespace telltale::query {

storage::Tier StoreTier(v1::Tier tier) { return static_cast<storage::Tier>(tier); }

double TierSeconds(v1::Tier tier, const storage::NodeRecord& node) {
  if (tier != v1::TIER_RAW) return Seconds(storage::WindowNs(StoreTier(tier)));
  const uint32_t length_s = node.info().epoch_length_s();
  return length_s == 0 ? 60 : length_s;
}

double RowsOf(v1::Tier tier, const Selection& selection) {
  double rows = 0;
  for (const storage::NodeRecord& node : selection.nodes) {
    rows += Seconds(selection.end_ns - selection.start_ns) / TierSeconds(tier, node);
  }
  return rows;
}

absl::StatusOr<TierChoice> ChooseTier(const Selection& selection, const Context& context,
                                      const std::function<bool(v1::Tier)>& affordable) {
  if (selection.tier != v1::TIER_AUTO) return TierChoice{selection.tier, true};
  absl::StatusOr<std::vector<storage::DataRange>> ranges = context.source->DataRanges(0);
  if (!ranges.ok()) return ranges.status();
  uint64_t earliest_ns = UINT64_MAX;
  for (const storage::DataRange& range : *ranges) {
    earliest_ns = std::min(earliest_ns, range.start_ns);
  }
  // A tier whose data begins a day or more after that of another one has lost its beginning.
  const auto holds = [&](v1::Tier tier) {
    if (tier == v1::TIER_RAW) return selection.start_ns >= context.source->RawFloorNs();
    return std::any_of(ranges->begin(), ranges->end(), [&](const storage::DataRange& range) {
      return range.tier == StoreTier(tier) && (range.start_ns <= selection.start_ns ||
                                               range.start_ns < earliest_ns + storage::kDayNs);
    });
  };
  TierChoice choice{v1::TIER_1D, false};
  for (const v1::Tier tier : {v1::TIER_RAW, v1::TIER_5MIN, v1::TIER_1H}) {
    if (!holds(tier) || !affordable(tier)) continue;
    choice.coarsest = tier;
    break;
  }
  return choice;
}

}  // namespace telltale::query
