// Latency and wait histograms of a selection, added up, with quantiles.

#ifndef TELLTALE_COLLECTOR_QUERY_HISTOGRAM_ANSWER_H_
#define TELLTALE_COLLECTOR_QUERY_HISTOGRAM_ANSWER_H_

#include "absl/status/statusor.h"
#include "collector/query/selection.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

// By name "layer/operation", e.g. "disk/read"; empty: all. NotFound names those the selection has.
absl::StatusOr<v1::HistogramAnswer> AnswerHistogram(const v1::HistogramRequest& request,
                                                    const Context& context);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_HISTOGRAM_ANSWER_H_
