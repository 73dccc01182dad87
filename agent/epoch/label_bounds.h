// Between which two weights a sampled label's true weight in the epoch lies (design section 4), and
// which weight no other label exceeds.
//
// low: the margin with which the label leads its cells, or what its samples weigh. high: that
// margin and what is contested in its cells (sketch/votes.h). Pure functions.

#ifndef TELLTALE_AGENT_EPOCH_LABEL_BOUNDS_H_
#define TELLTALE_AGENT_EPOCH_LABEL_BOUNDS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "agent/epoch/folded_epoch.h"
#include "agent/sensor/sensor.h"

namespace telltale::agent {

struct Bounds {
  uint64_t low = 0, high = 0;
};

// [i]: bounds of epoch.labels[i]. A wire label that the kernel knows under several hashes (one file
// mapped at several addresses) has the sum of them. Labels that share a cell and a mark share its
// margin: none of them may call it its own. Where cells are missing or plain adds lost something,
// low <= high still holds.
std::vector<Bounds> BoundLabels(const FoldedEpoch& epoch, const RawEpoch& raw);

// By vital id: what no label exceeds whose `listed` is false or that was never sampled
// (v1.SketchDigest.unlisted_high). `listed`: as many as epoch.labels.
std::map<uint8_t, uint64_t> BoundUnlisted(const FoldedEpoch& epoch, const RawEpoch& raw,
                                          const std::vector<Bounds>& bounds,
                                          const std::vector<bool>& listed);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_LABEL_BOUNDS_H_
