// What a question is about, made definite: which nodes, which time, which tier. Made once per
// question and then only read; belongs to who answers, and is read by its helpers.

#ifndef TELLTALE_COLLECTOR_QUERY_SELECTION_H_
#define TELLTALE_COLLECTOR_QUERY_SELECTION_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/query/helpers.h"
#include "collector/query/scan_count.h"
#include "collector/query/source.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

// What an answer needs besides the question.
struct Context {
  const Source* source = nullptr;
  uint64_t now_ns = 0;
  Helpers* helpers = nullptr;  // nullptr: one thread does it all; outlives the answer
  std::function<bool()> cancelled = [] { return false; };  // any thread
  ScanLimits limits;
};

struct Selection {
  storage::NodeList nodes;            // ascending by number
  uint64_t start_ns = 0, end_ns = 0;  // [start, end)
  v1::Tier tier = v1::TIER_AUTO;      // as asked
};

// NotFound names an unknown node and the nearest ones; InvalidArgument an impossible range. start_s
// 0: one hour before the end; end_s 0: now. Nodes and labels narrow each other; labels are
// "key=value", all must match.
absl::StatusOr<Selection> Resolve(const v1::Selection& asked, const Context& context);

// Whether a node's labels match all of "key=value". InvalidArgument: one is not of that form, or
// there are more than a node has labels.
absl::StatusOr<bool> MatchesLabels(const storage::NodeRecord& node,
                                   const google::protobuf::RepeatedPtrField<std::string>& matches);

// Whether an epoch belongs to [from, to), the one rule of all answers: its middle lies in it; a
// range shorter than the epoch has the epoch its own middle lies in. So ranges that meet share no
// epoch and lose none.
bool Belongs(const storage::EpochSpan& span, uint64_t from_ns, uint64_t to_ns);

// Visits all raw epochs that belong to the selection, node by node, each ascending by start.
// Cancelled, or ResourceExhausted beyond limits.epochs. `left_out` counts what could not be opened.
absl::Status ForEachEpoch(const Selection& selection, const Context& context,
                          const std::function<void(const StoredEpoch&)>& visit, LeftOut* left_out);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_SELECTION_H_
