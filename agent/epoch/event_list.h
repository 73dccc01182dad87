// Which discrete events of an epoch travel: all of them while they are few; of many distinct ones
// first what killed somebody, then failures and the ends of what had run since before the epoch,
// then the most frequent. Pure functions.

#ifndef TELLTALE_AGENT_EPOCH_EVENT_LIST_H_
#define TELLTALE_AGENT_EPOCH_EVENT_LIST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/epoch/body_tables.h"
#include "agent/epoch/epoch_span.h"
#include "agent/epoch/folded_epoch.h"
#include "agent/sensor/sensor.h"

namespace telltale::agent {

// Indexes into `events`, most worth keeping first. Of `raw` its processes are looked at.
std::vector<size_t> RankEvents(const std::vector<FoldedEvent>& events, const RawEpoch& raw);

// Appends the first `limit` of `ranking` in time order. Returns how many events (by count) the rest
// stood for.
uint64_t WriteEvents(const std::vector<FoldedEvent>& events, const std::vector<size_t>& ranking,
                     size_t limit, const EpochSpan& span, BodyTables& tables,
                     v1::SummaryBody* body);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_EVENT_LIST_H_
