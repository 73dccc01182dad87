// One folded sample as an answer shows it.

#ifndef TELLTALE_COLLECTOR_QUERY_SAMPLE_TEXT_H_
#define TELLTALE_COLLECTOR_QUERY_SAMPLE_TEXT_H_

#include <string>

#include "collector/query/label_estimate.h"
#include "collector/query/source.h"
#include "collector/query/stack_names.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

v1::SampleAnswer ShowSample(const StoredEpoch& epoch, const v1::VitalDescriptor& descriptor,
                            const v1::FoldedSample& sample, const EntryEstimate& estimate,
                            const storage::NodeRecord& node, const StackNames& names);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_SAMPLE_TEXT_H_
