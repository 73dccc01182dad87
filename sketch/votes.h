// What the votes in an epoch's cells (slot.h) say about labels, when the cells of all CPUs are
// added up: the leader of a cell need not be the same on each CPU. Plain values and free functions:
// any thread.
//
// Of one CPU's cell, total = margin + 2 contested; so over CPUs
//   low  = sum of the margins with which the label leads
//   high = low + sum of contested
// hold every label's weight (property test in tests/unit/sketch_votes_test.cc). What a mark does
// not tell apart counts as one label: within a cell in one of 65,536 pairs.

#ifndef TELLTALE_SKETCH_VOTES_H_
#define TELLTALE_SKETCH_VOTES_H_

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "sketch/sketch.h"
#include "sketch/slot.h"

namespace telltale::sketch {

// Where a label stands in a row of cells.
struct Place {
  uint32_t cell = 0;
  uint16_t mark = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};
Place PlaceOf(uint64_t hash, uint32_t columns);

struct Lead {
  Place place;
  uint64_t margin = 0;  // > 0; sum over the CPUs on which it leads
};

struct VotedCells {
  std::vector<uint64_t> total;      // [cell]; as many as columns
  std::vector<uint64_t> contested;  // [cell]
  std::vector<Lead> leads;          // ascending by place, each once

  uint32_t columns() const { return static_cast<uint32_t>(total.size()); }
  uint64_t MarginAt(const Place& place) const;  // 0: it leads nowhere
  uint64_t GreatestMargin(uint32_t cell) const;
  uint64_t Sum() const;  // of the totals, saturating
};

// What a label that does not lead a cell competes with there for samples (log_sample.h), by cell.
// The others weigh between contested (the leader cancelled all of them) and twice that (they
// cancelled each other): the former where the leader holds a quarter of the cell for sure, else the
// middle. An estimate, not a bound; coverage_bench compares what follows from it with exact counts.
std::vector<uint64_t> Competing(const VotedCells& cells);

// Adds up rows of slots, one of each CPU and all of equal length. Sums saturate. A slot whose total
// an interrupt's add got lost from may hold less than its margin: its margin then counts as no more
// than the total.
VotedCells AddUp(std::span<const std::span<const telltale_slot>> rows);

// The weight of a label that has these places (several, if it has several hashes; each once,
// ascending). `proved`: what its samples weigh.
Interval Estimate(const VotedCells& cells, std::span<const Place> places, uint64_t proved);

// No label weighs more which is in none of the `listed` places (ascending), has one hash, and
// shares no mark with a listed one.
uint64_t UnlistedHigh(const VotedCells& cells, std::span<const Place> listed);

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_VOTES_H_
