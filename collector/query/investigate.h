// "What was odd then": every vital of every selected node in a time against its own past (usual.h,
// past_times.h), the farthest of them with who did it and where in the code (GetDiff of the unusual
// while against the nearest past), and what else is known of the time. It asks the engine as
// anybody could; what it shows can be asked again by hand.
//
// Stateless; any thread. The engine calls it for itself.

#ifndef TELLTALE_COLLECTOR_QUERY_INVESTIGATE_H_
#define TELLTALE_COLLECTOR_QUERY_INVESTIGATE_H_

#include "absl/status/statusor.h"
#include "collector/query/engine.h"

namespace telltale::query {

// More nodes than this are sifted by the totals of their vitals; those with the farthest are then
// looked at as one node would be.
inline constexpr int kMaxCloseNodes = 16;

// Errors as of the engine's answers; InvalidArgument: more than a day, more than 20 findings.
absl::StatusOr<v1::InvestigateAnswer> AnswerInvestigate(const v1::InvestigateRequest& request,
                                                        const Engine& engine,
                                                        const Context& context);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_INVESTIGATE_H_
