// The hash-indexed counter array of one vital (Chopstix, section 4.1.2), as user space has it after
// a cut. A label's hash picks one cell; what the label weighs is in it, together with what its
// neighbours weigh. votes.h says what can be told of one label. Plain values and free functions:
// any thread.

#ifndef TELLTALE_SKETCH_SKETCH_H_
#define TELLTALE_SKETCH_SKETCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sketch/log_sample.h"

namespace telltale::sketch {

// Cell of a label: the top log2(columns) bits of its hash, as the kernel's
// `hash >> TELLTALE_CELL_SHIFT` (layout.h). `columns`: a power of two.
uint32_t Column(uint64_t hash, uint32_t columns);

// A label's weight lies in [low, high].
struct Interval {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// How a load lies on the cells: what a summary keeps when the cells themselves are not
// (v1.SketchDigest).
struct LoadDigest {
  std::vector<uint32_t> exponents;  // floor(log2(load)) that occur, ascending, load > 0
  std::vector<uint64_t> cells;      // how many cells have it, same order
};
LoadDigest Digest(std::span<const uint64_t> loads);

// The digest as groups for AverageMiss: the cells of an exponent are taken to lie evenly between
// its power of two and the next.
std::vector<CellGroup> Loads(const LoadDigest& digest);

// Plain cells: no label of the epoch weighs more than its cell, and no cell holds more than this:
// the threshold of what a summary does not list (label_merge.h). 0 if nothing was counted.
uint64_t LargestCellBound(std::span<const uint32_t> exponents, uint64_t total);

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_SKETCH_H_
