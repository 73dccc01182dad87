// Single samples with their stacks, newest epoch first within each node; and all stacks of a vital
// with their weights (a flame graph).

#ifndef TELLTALE_COLLECTOR_QUERY_SAMPLES_ANSWER_H_
#define TELLTALE_COLLECTOR_QUERY_SAMPLES_ANSWER_H_

#include "absl/status/statusor.h"
#include "collector/query/selection.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

// Ordered by time, newest first, then by node and position in the epoch. A page continues where the
// last one ended, whatever arrived meanwhile; InvalidArgument: `page` is not one of ours.
absl::StatusOr<v1::SamplesAnswer> AnswerSamples(const v1::SamplesRequest& request,
                                                const Context& context);

// Descending by estimated weight; the rest of the vital is `total` minus their sum.
absl::StatusOr<v1::StacksAnswer> AnswerStacks(const v1::StacksRequest& request,
                                              const Context& context);

// The same with every stack there is (10,000 at most), to be made a tree of.
absl::StatusOr<v1::StacksAnswer> AnswerStacksWhole(const v1::StacksRequest& request,
                                                   const Context& context);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_SAMPLES_ANSWER_H_
