// Chance that a label of a given weight left no sample in an epoch, measured with what the epoch
// shows of itself: its cells, who leads them, and whose samples were taken. So who was refused a
// token is in it, and mostly how events came. Free functions: any thread.
//
// Two kinds of labels are told apart.
//  - One that leads its cell: its weight is known (votes.h), and whether it was sampled. So the
//    share of leaders without a sample, by weight, is the chance itself.
//  - One that does not: N others compete in its cell, and of each sample taken there of those who
//    do not lead it had n / (N + n). With R such samples it is missed with (1 - n / (N + n))^R.
//    Of samples of one label that follow each other, all but the first count half if all that
//    was due was kept: such a run of events is one chance for its label and less than another for
//    those it shuts out. The more was refused the less they count, down to nothing: what stays
//    when tokens are short goes to labels that are always there.
// t may change within the epoch. Where the weights of events differ by orders of magnitude, those
// missed most are stated up to 0.35 too high: light events are kept more often than their weight
// says. A control group corrects that (miss_control.h).
//
// Of a vital whose events are seen part of the time, what is stated is of labels of which something
// was seen: one that comes in a single run is missed for sure where nobody watches, and nothing
// that was counted tells of it.
//
// A label is taken to lead where it outweighs half of the cell.
// For leaders it is a measurement, for the others an estimate: coverage_bench and coverage_truth
// compare both with exact counts, tests/bench/COVERAGE.md has how far they are off.

#ifndef TELLTALE_SKETCH_MISS_CURVE_H_
#define TELLTALE_SKETCH_MISS_CURVE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sketch/votes.h"

namespace telltale::sketch {

// A label that was sampled, by one hash.
struct SampledLabel {
  Place place;
  uint64_t samples = 0;
  uint64_t repeated = 0;  // of them: the one before, of the cell and CPU, was of the same label
};

// By weight: of 2^from_log2, 2^(from_log2 + 1), ..., falling. Empty: nothing was counted.
struct MissCurve {
  uint32_t from_log2 = 0;
  std::vector<double> miss;

  // Between the points the hazard, -ln(miss), grows evenly with the weight, and beyond the last in
  // proportion to it. Below the first a label is missed for sure.
  double At(uint64_t weight) const;
};

// `sampled`: each place once, in any order. `refused`: events that were due and could not be kept.
// `quantum` > 0: no lighter label is sampled.
MissCurve MeasureMiss(const VotedCells& cells, std::span<const SampledLabel> sampled,
                      uint64_t refused, uint64_t quantum);

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_MISS_CURVE_H_
