// The built-in detectors, in the order `telltale status` lists them. Each says above its class what
// it looks for, by which formula, and what it needs to have seen before it speaks.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_DETECTORS_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_DETECTORS_H_

#include <vector>

#include "collector/filter/telltale_filter.h"

namespace telltale::filter {

const telltale_filter* LevelShiftFilter();
const telltale_filter* SeasonalFilter();
const telltale_filter* LeakFilter();
const telltale_filter* DescriptorLeakFilter();
const telltale_filter* NewLabelFilter();
const telltale_filter* VanishedFilter();
const telltale_filter* AffinityFilter();
const telltale_filter* SortFilter();

// All of them, the moving average first.
std::vector<const telltale_filter*> BuiltinFilters();

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_DETECTORS_H_
