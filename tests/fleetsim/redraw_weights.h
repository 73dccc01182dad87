// Re-draws the numbers of an epoch so that it is still one that a machine could have had: rows of
// the process table and *other* add up to the totals as they did, seconds add up to their total,
// cells and labels stay within them. Free functions; any thread.

#ifndef TELLTALE_TESTS_FLEETSIM_REDRAW_WEIGHTS_H_
#define TELLTALE_TESTS_FLEETSIM_REDRAW_WEIGHTS_H_

#include <cstdint>

#include "telltale/v1/summary.pb.h"

namespace telltale::fleetsim {

struct WeightNoise {
  uint64_t node_seed = 0;
  uint64_t epoch_seed = 0;  // of this node and epoch
  // Standard deviations of ln(factor): a label or process of one node against the fleet; all of a
  // node; one epoch against the next.
  double label_sigma = 0.5, node_sigma = 0.3, epoch_sigma = 0.15;
  uint32_t cpus = 1;  // of the node; an epoch that was recorded on fewer says so itself
};

// `schema`: of the body; tells which label fields are code locations and names.
void RedrawWeights(const WeightNoise& noise, const v1::Schema& schema, v1::SummaryBody& body);

// Rows keep their order in memory, not on the node: cells are moved and scaled.
void RedrawCells(const WeightNoise& noise, v1::SketchCells& cells);

// Makes an epoch of `seconds` one of `epoch_s`: totals in proportion, times spread out, seconds
// repeated or cut off. Leaves epoch times to whoever sets them, but for its length.
void Stretch(uint32_t epoch_s, double seconds, v1::SummaryBody& body);

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_REDRAW_WEIGHTS_H_
