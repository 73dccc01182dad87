// Sums of what other machines report: at the top they stay there instead of beginning again at
// zero.

#ifndef TELLTALE_SKETCH_SATURATING_H_
#define TELLTALE_SKETCH_SATURATING_H_

#include <cstdint>
#include <limits>

namespace telltale::sketch {

constexpr uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

// a - b, or 0.
constexpr uint64_t FlooredSubtract(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_SATURATING_H_
