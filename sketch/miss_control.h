// What the control group says of a curve of chances. Its labels, picked by their hash, are counted
// exactly beside the sketch, as Chopstix did to learn its false negatives (5.3): of each the
// weight is known, and whether it was sampled. Free functions: any thread.

#ifndef TELLTALE_SKETCH_MISS_CONTROL_H_
#define TELLTALE_SKETCH_MISS_CONTROL_H_

#include <cstdint>
#include <span>

#include "sketch/miss_curve.h"

namespace telltale::sketch {

// A label of the control group in one epoch.
struct ExactLabel {
  uint64_t weight = 0;
  bool missed = false;
};

// The curve, its points moved to where the group was: a logistic regression with one shift of the
// log odds a point, of which each label's share is by its place between two points. A shift counts
// as if one was known beforehand to be 0 with a variance of 3, so where the group has few labels,
// or none, the curve stays about as it is. It goes on falling. Labels below its first point have no
// say.
MissCurve Corrected(MissCurve curve, std::span<const ExactLabel> group);

// The same of a vital whose events were seen part of the time. A label none of whose events was
// seen is missed, and is not in the group: so that the group was missed less than stated proves
// nothing, and no point is lowered.
MissCurve CorrectedUpwards(const MissCurve& curve, std::span<const ExactLabel> group);

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_MISS_CONTROL_H_
