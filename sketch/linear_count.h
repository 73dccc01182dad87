// How many different labels there were, from a bitmap in which each set one bit (linear counting:
// Whang, Vander-Zanden, Taylor, "A linear-time probabilistic counting algorithm", ACM TODS 15(2),
// 1990). Plain values: any thread.

#ifndef TELLTALE_SKETCH_LINEAR_COUNT_H_
#define TELLTALE_SKETCH_LINEAR_COUNT_H_

#include <cstdint>
#include <span>

namespace telltale::sketch {

struct Distinct {
  uint64_t estimate = 0;
  double relative_error = 0;  // one standard deviation, from the paper's equation for m bits
  bool full = false;          // every bit is set: the estimate is only a lower bound
};

// m bits, 64 a word; z of them still 0: n = -m ln(z / m), rounded.
Distinct CountDistinct(std::span<const uint64_t> bitmap);

// Adds the labels of `other`, hashed with the same seed; false if the sizes differ.
[[nodiscard]] bool Add(std::span<const uint64_t> other, std::span<uint64_t> into);

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_LINEAR_COUNT_H_
