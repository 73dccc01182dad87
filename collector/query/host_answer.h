// Levels of whole hosts over a selection: memory with swap, pressure, load, processors; lowest,
// mean, highest and last, with the moment of each extreme.

#ifndef TELLTALE_COLLECTOR_QUERY_HOST_ANSWER_H_
#define TELLTALE_COLLECTOR_QUERY_HOST_ANSWER_H_

#include "absl/status/statusor.h"
#include "collector/query/selection.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

// From raw epochs alone: windows do not keep levels. What an agent could not read has no level.
// InvalidArgument for a limit above 1,000.
absl::StatusOr<v1::HostLevelsAnswer> AnswerHost(const v1::HostLevelsRequest& request,
                                                const Context& context);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_HOST_ANSWER_H_
