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
  uint64_t quantum = 1;   // > 0; below it nothing is sampled
  uint32_t t_log2 = 1;    // t = 2^t_log2, 1..16
  uint32_t cpus = 1;      // each counts in cells of its own
  double kept = 1;        // samples over powers passed, see KeptShare
  double kept_first = 0;  // samples over events due: of voted cells, for a label that would lead
};

// The highest power t^j, j >= 0, in (floor(before / q), floor(after / q)]; 0 if there is none. The
// event that moves its cell from `before` to `after` is eligible iff it is not 0.
uint64_t CrossedPower(uint64_t before, uint64_t after, uint64_t quantum, uint32_t t_log2);

// How many powers t^j, j >= 0, a cell that went from 0 to `total` has passed; no more samples than
// that exist of it on one CPU.
uint32_t PowersPassed(uint64_t total, uint64_t quantum, uint32_t t_log2);

// Chance that a label of weight n went unsampled in a cell where it competes with `others`, if the
// events of all came mixed evenly and on all CPUs alike: (1 - kept n / (N + n))^k with k powers
// passed, each by one of the label's events with chance n / (N + n). Small events: each at most a
// small part of n, and of about the weight of the others'. Where those of the label are a tenth of
// that and the quantum is below it, the chance is up to 0.3 too high; where they are few and ten
// times that, up to 0.12 too low. `others` is what the label competes with for samples: of voted
// cells what is contested (slot.h), of plain ones all of it. A label that outweighs the others
// leads, and is due until it is kept: then the greater of kept and kept_first counts.
double MissSpread(uint64_t n, uint64_t others, const Sampling& sampling);

// The same if the label came as one event or one run on one CPU: max(0, 1 - kept log_t(1 + n / N)),
// the chance that a step from N to N + n passes no power, N being the CPU's part of the others and
// as likely to lie anywhere between two powers on a logarithmic scale.
double MissBurst(uint64_t n, uint64_t others, const Sampling& sampling);

// Cells that hold about the same, as in a summary's load digest.
struct CellGroup {
  uint64_t weight = 0;  // of one cell
  double cells = 0;
};

// Samples taken over powers passed by these loads on CPUs alike. It stands for all that comes
// between the two: tokens refused, loads that lie on few CPUs only, t that changed within the
// epoch. 1 if no power was passed; may exceed 1.
double KeptShare(uint64_t samples, std::span<const CellGroup> loads, const Sampling& sampling);

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
