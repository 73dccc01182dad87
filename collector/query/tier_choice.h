// Which tier an answer is computed from: the finest one that still holds the whole selection and
// with which the answer stays within a bounded amount of work; or the one that was asked for.
//
// Pure but for asking the source where data is; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_TIER_CHOICE_H_
#define TELLTALE_COLLECTOR_QUERY_TIER_CHOICE_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "collector/query/selection.h"

namespace telltale::query {

struct TierChoice {
  v1::Tier coarsest = v1::TIER_RAW;  // finer ones serve what its windows do not
  bool only = false;                 // it was asked for: no other one may be used
};

storage::Tier StoreTier(v1::Tier tier);
// Length of a window; raw: of the node's epochs.
double TierSeconds(v1::Tier tier, const storage::NodeRecord& node);

// `affordable`: whether the answer may be computed from this tier (asked from fine to coarse; the
// coarsest is not asked).
absl::StatusOr<TierChoice> ChooseTier(const Selection& selection, const Context& context,
                                      const std::function<bool(v1::Tier)>& affordable);

// Epochs or windows of a tier in the selection, all nodes together.
double RowsOf(v1::Tier tier, const Selection& selection);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_TIER_CHOICE_H_
