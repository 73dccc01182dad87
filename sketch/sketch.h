// The hash-indexed counter array of one vital (Chopstix, section 4.1.2), as user space has it after
// a cut: cells summed over CPUs. A label's hash picks one cell in each row; what the label weighs
// is in all of them, together with what its neighbours weigh. Plain values and free functions: any
// thread.

#ifndef TELLTALE_SKETCH_SKETCH_H_
#define TELLTALE_SKETCH_SKETCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sketch/log_sample.h"

namespace telltale::sketch {

struct Cells {
  uint64_t seed_id = 0;        // of the epoch's hash seed
  uint32_t rows = 0;           // >= 1
  uint32_t columns = 0;        // a power of two
  std::vector<uint64_t> cell;  // rows x columns, row-major
};

// Column of a label's cell in a row: successive groups of log2(columns) bits of its hash, from the
// top; row 0 is the kernel's `hash >> TELLTALE_CELL_SHIFT` (layout.h).
uint32_t Column(uint64_t hash, uint32_t row, uint32_t columns);

// Adds `other` to `into`, saturating. Only cells of equal seed and shape add: labels lie elsewhere
// under another seed. False, and nothing changed, otherwise.
[[nodiscard]] bool Add(const Cells& other, Cells& into);

// A label's weight lies in [low, high].
struct Interval {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// high: the least of the label's cells. low: `proved`, the weight its samples (or a candidate
// slot's vote margin) prove, and at most high.
Interval Estimate(const Cells& cells, uint64_t hash, uint64_t proved);

// How the load lies on the cells: what a summary keeps when the cells themselves are not
// (v1.SketchDigest).
struct LoadDigest {
  uint64_t total = 0;               // sum of one row, the largest of them
  std::vector<uint32_t> exponents;  // floor(log2(cell)) that occur, ascending, cell > 0
  std::vector<uint64_t> cells;      // how many cells have it, same order, all rows together
};
LoadDigest Digest(const Cells& cells);

// The digest as groups for AverageMiss: a group's cells are taken to hold 1.5 times its power of
// two.
std::vector<CellGroup> Loads(const LoadDigest& digest);

// No label of the epoch weighs more than its cell, and no cell holds more than this: the threshold
// of what a summary does not list (label_merge.h). 0 if nothing was counted.
uint64_t LargestCellBound(std::span<const uint32_t> exponents, uint64_t total);

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_SKETCH_H_
