// Between which two weights a sampled label's true weight in the epoch lies (design section 4).
//
// low: what its samples prove, the sum of their weights. high: what its sketch cells hold; a cell
// holds all of the label's weight and that of the labels which share it. Pure functions.

#ifndef TELLTALE_AGENT_EPOCH_LABEL_BOUNDS_H_
#define TELLTALE_AGENT_EPOCH_LABEL_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "agent/epoch/folded_epoch.h"
#include "agent/sensor/sensor.h"

namespace telltale::agent {

struct Bounds {
  uint64_t low = 0, high = 0;
};

// [i]: bounds of epoch.labels[i]. A wire label that the kernel knows under several hashes (one file
// mapped at several addresses) has at most the sum of their distinct cells. Where cells are missing
// or plain adds lost something, low <= high still holds.
std::vector<Bounds> BoundLabels(const FoldedEpoch& epoch, const RawEpoch& raw);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_LABEL_BOUNDS_H_
