// Discrete events (exec, exit, oom, clock step, agent start ...) of a selection, and gaps of its
// coverage.

#ifndef TELLTALE_COLLECTOR_QUERY_EVENTS_ANSWER_H_
#define TELLTALE_COLLECTOR_QUERY_EVENTS_ANSWER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "collector/query/selection.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

// The newest `limit` (0: 200) before the request's page, `marks` among them, in ascending order of
// time. A page continues where the last one ended, whatever arrived meanwhile; InvalidArgument: it
// is not one of ours.
absl::StatusOr<v1::EventsAnswer> AnswerEvents(const v1::EventsRequest& request,
                                              const std::vector<v1::Mark>& marks,
                                              const Context& context);

absl::StatusOr<v1::CoverageAnswer> AnswerCoverage(const v1::CoverageRequest& request,
                                                  const Context& context);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_EVENTS_ANSWER_H_
