// Which folded samples of an epoch travel, and how one looks on the wire. Pure functions.

#ifndef TELLTALE_AGENT_EPOCH_SAMPLE_LIST_H_
#define TELLTALE_AGENT_EPOCH_SAMPLE_LIST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/epoch/body_tables.h"
#include "agent/epoch/epoch_span.h"
#include "agent/epoch/folded_epoch.h"
#include "agent/epoch/label_bounds.h"

namespace telltale::agent {

// Entries in the order in which they are worth keeping: the first `must` are the three heaviest of
// each vital, the rest goes by share of its sub-series' weight. An ended entry weighs what its
// label is estimated to have weighed in the epoch (its part of its cell), so that a million short
// waits rank with one long one; an open wait weighs itself. Two ended ones come before each open
// one, because every idle thread of the host is an open wait. Waits by choice (poll, timer) come
// after the others of their vital.
struct SampleRanking {
  std::vector<uint32_t> entries;  // indexes into FoldedEpoch::entries
  size_t must = 0;
};
SampleRanking RankSamples(const FoldedEpoch& epoch, const std::vector<Bounds>& bounds,
                          const RawEpoch& raw);

// Writes the first `kept` entries of the ranking into the vitals of `body` (already there, with
// id), each vital's by descending weight, counts the rest as folded away, and says what no label
// weighs more that has no entry and how many heavy ones of the control group have none. `bounds`
// per label.
void WriteSamples(const FoldedEpoch& epoch, const RawEpoch& raw, const std::vector<Bounds>& bounds,
                  const SampleRanking& ranking, size_t kept, const EpochSpan& span,
                  BodyTables& tables, v1::SummaryBody* body);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_SAMPLE_LIST_H_
