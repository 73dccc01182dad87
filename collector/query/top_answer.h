// "What did the most": for each vital and dimension a table of the heaviest, with the rest as
// `other`, so that rows + other = the total. By process, executable, user, cgroup and node from
// exact accounts where the node kept them; by site and stack (and where there are no accounts) from
// folded samples, with [low, high].

#ifndef TELLTALE_COLLECTOR_QUERY_TOP_ANSWER_H_
#define TELLTALE_COLLECTOR_QUERY_TOP_ANSWER_H_

#include "absl/status/statusor.h"
#include "collector/query/selection.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

absl::StatusOr<v1::TopAnswer> AnswerTop(const v1::TopRequest& request, const Context& context);

// The same with every row there is (5,000 a table at most, `unlisted_most` speaks for the rest), to
// be compared with another; the request's limit does not apply. Without a dimension: executable and
// site, since few processes are there twice.
absl::StatusOr<v1::TopAnswer> AnswerTopWhole(const v1::TopRequest& request, const Context& context);

// InvalidArgument: more rows than an answer may have.
absl::Status CheckTopLimit(uint32_t limit);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_TOP_ANSWER_H_
