// Rows of a top table from the folded samples of an epoch: by site and by stack always, by process,
// executable, user and cgroup where the node keeps no accounts.
//
// Free functions; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_TOP_SAMPLE_H_
#define TELLTALE_COLLECTOR_QUERY_TOP_SAMPLE_H_

#include <optional>
#include <string>
#include <vector>

#include "collector/query/label_estimate.h"
#include "collector/query/process_filter.h"
#include "collector/query/row_bounds.h"
#include "collector/query/source.h"
#include "collector/query/stack_names.h"
#include "collector/query/top_table.h"

namespace telltale::query {

// What a vital's entries in one epoch say, in the order of vital.samples().
struct Entries {
  const v1::VitalDescriptor* descriptor = nullptr;  // in this epoch's schema; null: unknown there
  std::vector<EntryEstimate> estimates;             // EstimateEntries
  std::vector<EntryEstimate> of_stacks;             // EstimateStacks
  std::vector<uint64_t> labels;                     // LabelIds
};

Entries EntriesOf(const StoredEpoch& epoch, const v1::Vital& vital);

// Adds values to the table and what each row is bounded by to `bounds`; to be called for every
// epoch that has the vital, since one without entries widens the bounds too.
void AddSamples(const StoredEpoch& epoch, const v1::Vital& vital, const Entries& entries,
                const std::string& node_name, StackNames& names, ProcessFilter& filter,
                TopTable& table, RowBounds& bounds);

// Whether rows tell the stacks of one label apart: then what is proven of the label is not proven
// of any row. A site that is the label's own address holds the whole label.
bool RowsAreStacks(v1::Dimension by, const v1::VitalDescriptor* descriptor);

// The code location of an event of this vital: its exact address where it keeps one, else by
// SiteOf.
v1::Frame SiteOfSample(const v1::FoldedSample& sample, const v1::VitalDescriptor& descriptor,
                       const StackNames& names);
// What a sample without a stack still tells: the address that was sampled, else the system call.
std::optional<v1::Frame> SampledSite(const v1::FoldedSample& sample,
                                     const v1::VitalDescriptor& descriptor,
                                     const StackNames& names);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_TOP_SAMPLE_H_
