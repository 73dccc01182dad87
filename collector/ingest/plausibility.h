// Whether a summary's totals can be true: what a machine with so many CPUs can do in so much time.
// Two limits: above *believable* a summary is stored and the node gets a remark; above *possible*
// it is refused, because such numbers would also wreck the cumulative counters. Pure functions.

#ifndef TELLTALE_COLLECTOR_INGEST_PLAUSIBILITY_H_
#define TELLTALE_COLLECTOR_INGEST_PLAUSIBILITY_H_

#include <cstdint>
#include <string>

#include "telltale/v1/summary.pb.h"

namespace telltale::ingest {

enum class Belief { kPlausible, kImplausible, kImpossible };

struct Judgement {
  Belief belief = Belief::kPlausible;
  std::string reason;  // field, value, limit; empty when plausible
};

// `cpus`: possible CPUs of the node's NodeInfo. The body was checked by the codec; units come from
// `schema`.
Judgement JudgeTotals(const v1::SummaryBody& body, const v1::Schema& schema, uint32_t cpus);

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_PLAUSIBILITY_H_
