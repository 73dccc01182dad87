// Lines of one process: what it weighs in each epoch or window, by the same accounts, samples and
// group tables as the rows of a top answer, with the two figures that lies between.
//
// Free functions; one thread.

#ifndef TELLTALE_COLLECTOR_QUERY_SERIES_PROCESS_H_
#define TELLTALE_COLLECTOR_QUERY_SERIES_PROCESS_H_

#include <string>

#include "absl/status/status.h"
#include "collector/query/series_tiers.h"

namespace telltale::query {

// Whether lines of a process may be drawn from this tier: every epoch is opened, and of windows the
// rows of each vital. `one_pid`: only raw epochs have it.
bool ProcessAffordable(v1::Tier tier, const Selection& selection, size_t vitals, bool one_pid);

// Fills the lines and says what it used and what was lost. NotFound: nobody is called so in this
// time; others as TierScan.
absl::Status ScanProcess(const SeriesScan& scan, const std::string& process, SeriesLines& lines,
                         CoverageBuilder& coverage);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_SERIES_PROCESS_H_
