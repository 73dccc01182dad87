// Rows of a top table from what windows say together: executables, users and cgroups from their
// group tables where these hold just what was asked for, else and for code from labels. Windows
// keep no single processes.
//
// Free functions; one thread.

#ifndef TELLTALE_COLLECTOR_QUERY_TOP_WINDOWS_H_
#define TELLTALE_COLLECTOR_QUERY_TOP_WINDOWS_H_

#include <map>
#include <string>
#include <vector>

#include "collector/query/portable_names.h"
#include "collector/query/process_filter.h"
#include "collector/query/top_table.h"
#include "collector/query/window_sums.h"

namespace telltale::query {

// A label's weight in the stored unit, at_stack <= low <= value <= high.
struct LabelWeightOf {
  const LabelSum* label = nullptr;
  double value = 0, low = 0, high = 0;
  double at_stack = 0;  // of low, what is proven of the one stack that was kept
  uint64_t samples = 0;
};

// The listed labels that count towards the choice: those sampled mostly in its sub-series. value is
// what the epochs that list the label make likely, whatever tiers they went through; high is at
// most the weight of the choice.
std::vector<LabelWeightOf> LabelsOf(VitalSum& sum, const VitalChoice& choice);

// What executables weigh at most in this choice, by the windows' group tables.
ExeLimits ExeLimitsOf(VitalSum& sum, const VitalChoice& choice);

// Asks the filter about every executable that the windows name.
void LookForExe(const VitalSum& sum, ProcessFilter& filter);

// Adds totals and rows. Says whether the rows are exact. `sum` and `cache` stay until the table is
// finished.
bool AddWindows(VitalSum& sum, const std::map<uint32_t, std::string>& node_names,
                ProcessFilter& filter, SymbolCache& cache, TopTable& table);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_TOP_WINDOWS_H_
