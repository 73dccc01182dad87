// The part of a body that needs no tables: totals, seconds, sketch digests, knobs, losses,
// histograms and cells, from what the sensor's cut returned. Pure functions.

#ifndef TELLTALE_AGENT_EPOCH_VITAL_PART_H_
#define TELLTALE_AGENT_EPOCH_VITAL_PART_H_

#include <cstdint>
#include <vector>

#include "agent/epoch/folded_epoch.h"
#include "agent/epoch/sampled_hashes.h"
#include "agent/sensor/sensor.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::agent {

// Appends every vital of the table, in id order, with all its sub-series, or none if
// it is unavailable; states from `statuses`.
void WriteVitals(const RawEpoch& raw, const FoldedEpoch& folded,
                 const std::vector<VitalStatus>& statuses, v1::SummaryBody* body);

// The control group's labels that are at least as heavy as the mean cell and were sampled: hashes.
// None where the samples' hashes are not all known (SketchDigest then has no control group).
std::vector<uint64_t> HeavySampled(const RawVital& raw, const SampledHashes& sampled);

void WriteHistograms(const RawEpoch& raw, v1::SummaryBody* body);

// The counters themselves. seed_id names the seed without giving it away.
v1::SketchCells CellsOf(const RawEpoch& raw);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_VITAL_PART_H_
