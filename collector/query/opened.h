// Which questions open samples, and of which nodes: samples hold names of processes, users and
// paths as they were, so the audit log keeps who asked. Both doors, gRPC and HTTPS, tell it here.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_OPENED_H_
#define TELLTALE_COLLECTOR_QUERY_OPENED_H_

#include <functional>
#include <string>

#include "telltale/v1/query.pb.h"

namespace telltale::query {

// Told before the answer: who asks ("viewer/ann"), from where, for what ("samples", "stacks",
// "flame", "investigate").
using TellOpened = std::function<void(const std::string& who, const std::string& address,
                                      const char* what, const v1::Selection& selection)>;

template <typename Question, typename Visit>
void ForEachOpened(const Question&, const Visit&) {}
template <typename Visit>
void ForEachOpened(const v1::SamplesRequest& question, const Visit& visit) {
  visit("samples", question.selection());
}
template <typename Visit>
void ForEachOpened(const v1::StacksRequest& question, const Visit& visit) {
  visit("stacks", question.selection());
}
template <typename Visit>
void ForEachOpened(const v1::FlameRequest& question, const Visit& visit) {
  visit("flame", question.stacks().selection());
  if (question.has_against()) visit("flame", question.against());
}
template <typename Visit>
void ForEachOpened(const v1::InvestigateRequest& question, const Visit& visit) {
  visit("investigate", question.selection());
}

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_OPENED_H_
