// The first filter: an exponentially weighted moving average and deviation of every sub-series'
// rate, as Chopstix used to find its symptoms (OSDI '08, section 5). It is written on the public
// interface only (telltale_filter.h) and serves as the example of a filter.
//
// Options (telltale_filter_option): alpha (weight of a new epoch, 1/32), learn (epochs before it
// speaks, 30), k (deviations that make an anomaly, 6), floor (times the built-in smallest deviation
// of the unit, 1).

#ifndef TELLTALE_COLLECTOR_FILTER_EWMA_H_
#define TELLTALE_COLLECTOR_FILTER_EWMA_H_

#include "collector/filter/telltale_filter.h"

#ifdef __cplusplus
extern "C" {
#endif

// Constant.
const struct telltale_filter* telltale_ewma_filter(void);

#ifdef __cplusplus
}
#endif

#endif  // TELLTALE_COLLECTOR_FILTER_EWMA_H_
