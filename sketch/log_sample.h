// Log-sampling (Chopstix, OSDI '08, section 4.1.3): an event is worth keeping whole when its cell
// passes a power of t, so the number of samples grows with the logarithm of what a cell holds. The
// kernel has its own form of the crossing test (agent/sensor/bpf); this is the one that tests, the
// simulator and answers use. Free functions: any thread.

#ifndef TELLTALE_SKETCH_LOG_SAMPLE_H_
#define TELLTALE_SKETCH_LOG_SAMPLE_H_

#include <cstdint>
#include <span>

namespace telltale::sketch {

// How samples are drawn in one vital.
struct Sampling {
  uint64_t quantum = 1;  // > 0; below it nothing is sampled
  uint32_t t_log2 = 1;   // t = 2^t_log2, 1..16
  uint32_t cpus = 1;     // each counts in cells of its own
};

// The highest power t^j, j >= 0, in (floor(before / q), floor(after / q)]; 0 if there is none. The
// event that moves its cell from `before` to `after` is eligible iff it is not 0.
uint64_t CrossedPower(uint64_t before, uint64_t after, uint64_t quantum, uint32_t t_log2);

// How many powers t^j, j >= 0, a cell that went from 0 to `total` has passed; no more samples than
// that exist of it on one CPU.
uint32_t PowersPassed(uint64_t total, uint64_t quantum, uint32_t t_log2);

// Chance that a label of weight n went unsampled in a cell with N weight of other labels, if the
// events of all came mixed evenly: (1 - n / (N + n))^k, k = floor(log_t((N + n) / q)): each power
// from t^1 on is passed by one of the label's events with chance n / (N + n). Small events: each at
// most a small part of n.
//
// An upper bound in two ways: the power t^0 is left out of k, and of the ways the weight may lie on
// the CPUs (all on one, evenly on all) the one with fewer powers counts.
double MissSpread(uint64_t n, uint64_t others, const Sampling& sampling);

// The same if the label came as one event: max(0, 1 - log_t(1 + n / N)), the chance that a step
// from N to N + n passes no power, when N is as likely to lie anywhere between two powers on a
// logarithmic scale.
double MissBurst(uint64_t n, uint64_t others, const Sampling& sampling);

// Cells that hold about the same, as in a summary's load digest.
struct CellGroup {
  uint64_t weight = 0;  // of one cell, total
  uint64_t cells = 0;
};

// Both, averaged over the cells the label's hash may have picked. What is in a cell now stands for
// what the label would have met there. `cells`: how many there are in a row, empty ones included.
struct Miss {
  double spread = 1;
  double burst = 1;
};
Miss AverageMiss(uint64_t n, std::span<const CellGroup> loads, uint64_t cells,
                 const Sampling& sampling);

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_LOG_SAMPLE_H_
