// The nodes, the vitals they send, and how the collector itself is.

#ifndef TELLTALE_COLLECTOR_QUERY_NODES_ANSWER_H_
#define TELLTALE_COLLECTOR_QUERY_NODES_ANSWER_H_

#include "absl/status/statusor.h"
#include "collector/query/selection.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

absl::StatusOr<v1::NodesAnswer> AnswerNodes(const v1::NodesRequest& request,
                                            const Context& context);
absl::StatusOr<v1::VitalsAnswer> AnswerVitals(const Context& context);
// What the store knows; ack latency, refusals and filters are added by whoever has them.
absl::StatusOr<v1::StatusAnswer> AnswerStatus(const Context& context);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_NODES_ANSWER_H_
