// Where the points of a series answer come from, cheapest first: series blocks (all epochs of a
// node and hour in columns) for resolution of epochs, line blocks (a vital of 256 nodes) for
// windows of many nodes, window rows and raw epochs for what these do not have. Over a day and more
// of very many nodes the last minutes, which are in no whole window yet, are left out and it says
// so: their epochs would be opened one by one.
//
// Free functions; one thread.

#ifndef TELLTALE_COLLECTOR_QUERY_SERIES_TIERS_H_
#define TELLTALE_COLLECTOR_QUERY_SERIES_TIERS_H_

#include <vector>

#include "absl/status/status.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/series_lines.h"
#include "collector/query/tier_choice.h"

namespace telltale::query {

struct SeriesScan {
  const Selection& selection;
  const Context& context;
  const VitalBook& book;
  const std::vector<uint32_t>& vitals;  // of the lines
  TierChoice tier;
  bool inside_epochs = false;  // seconds or backlog are asked for: only raw epochs have them
};

// Whether a series may be drawn from this tier: so many blocks or values at most.
bool SeriesAffordable(v1::Tier tier, const Selection& selection, size_t vitals);

// Fills the lines and says what it used and what was lost. Errors as TierScan.
absl::Status ScanSeries(const SeriesScan& scan, SeriesLines& lines, CoverageBuilder& coverage);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_SERIES_TIERS_H_
