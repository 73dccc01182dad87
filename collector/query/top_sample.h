// Rows of a top table from the folded samples of an epoch: by site and by stack always, by process,
// executable, user and cgroup where the node keeps no accounts.
//
// Free functions; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_TOP_SAMPLE_H_
#define TELLTALE_COLLECTOR_QUERY_TOP_SAMPLE_H_

#include <string>
#include <vector>

#include "collector/query/label_estimate.h"
#include "collector/query/process_filter.h"
#include "collector/query/source.h"
#include "collector/query/stack_names.h"
#include "collector/query/top_table.h"

namespace telltale::query {

// `estimates` are EstimateEntries(vital); `descriptor` describes the vital in this epoch's schema.
void AddSamples(const StoredEpoch& epoch, const v1::Vital& vital,
                const v1::VitalDescriptor& descriptor, const std::vector<EntryEstimate>& estimates,
                const std::string& node_name, StackNames& names, const ProcessFilter& filter,
                TopTable& table);

// The code location of an event of this vital: its exact address where it keeps one, else by
// SiteOf.
v1::Frame SiteOfSample(const v1::FoldedSample& sample, const v1::VitalDescriptor& descriptor,
                       const StackNames& names);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_TOP_SAMPLE_H_
