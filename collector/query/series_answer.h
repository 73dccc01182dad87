// "How much, over time": a line per vital (or sub-series), per node or summed over the selection,
// of all processes or of one. Its coverage says which epochs and windows it was computed from.

#ifndef TELLTALE_COLLECTOR_QUERY_SERIES_ANSWER_H_
#define TELLTALE_COLLECTOR_QUERY_SERIES_ANSWER_H_

#include "absl/status/statusor.h"
#include "collector/query/selection.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

absl::StatusOr<v1::SeriesAnswer> AnswerSeries(const v1::SeriesRequest& request,
                                              const Context& context);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_SERIES_ANSWER_H_
