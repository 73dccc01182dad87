// Discrete events (exec, exit, oom, clock step, agent start ...) of a selection, and gaps of its
// coverage.

#ifndef TELLTALE_COLLECTOR_QUERY_EVENTS_ANSWER_H_
#define TELLTALE_COLLECTOR_QUERY_EVENTS_ANSWER_H_

#include "absl/status/statusor.h"
#include "collector/query/selection.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

// The newest `limit` (0: 200) in ascending order of time; a note says when older ones were left
// out.
absl::StatusOr<v1::EventsAnswer> AnswerEvents(const v1::EventsRequest& request,
                                              const Context& context);

absl::StatusOr<v1::CoverageAnswer> AnswerCoverage(const v1::CoverageRequest& request,
                                                  const Context& context);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_EVENTS_ANSWER_H_
