// What the samples of one vital in one epoch say about weights. Each label's weight lies in [low,
// high]; the exact total of the vital is divided among the labels within these bounds, and a
// label's share among its entries (stacks, sub-series) by the weight sampled in each.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_LABEL_ESTIMATE_H_
#define TELLTALE_COLLECTOR_QUERY_LABEL_ESTIMATE_H_

#include <vector>

#include "telltale/v1/summary.pb.h"

namespace telltale::query {

// In the vital's stored unit. low <= value <= high.
struct EntryEstimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

// One per vital.samples(), same order. A label's value is sketch::DivideTotal's, as in windows. An
// entry that shares its label with others has what its own samples prove as low, and as high the
// label's without what the others' samples prove.
std::vector<EntryEstimate> EstimateEntries(const v1::Vital& vital);

// The same for entries as stacks: what is proven of a label need not have come from the one stack
// of it that is listed, so an entry's low is what its own samples weigh.
std::vector<EntryEstimate> EstimateStacks(const v1::Vital& vital,
                                          std::vector<EntryEstimate> entries);

// The exact id of each entry's label (storage/rollup/portable.h): the same in every epoch, while
// indexes into `tables` are the body's own. One per vital.samples(), same order.
std::vector<uint64_t> LabelIds(const v1::Vital& vital, const v1::VitalDescriptor* descriptor,
                               const v1::Tables& tables);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_LABEL_ESTIMATE_H_
