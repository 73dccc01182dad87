// Rounding to 7 significant bits, so that a second's weight, or the bound of a label's, compresses
// well: 64..127 times a power of two. Free functions: any thread.

#ifndef TELLTALE_SKETCH_ROUND7_H_
#define TELLTALE_SKETCH_ROUND7_H_

#include <bit>
#include <cstdint>

namespace telltale::sketch {

// The nearest number of at most 7 significant bits, the larger of two equally near ones; values
// below 128 and those already rounded stay as they are. Off by at most 1/128 of the value, but for
// the topmost 2^56, which round down because what is nearest needs 65 bits.
constexpr uint64_t Round7(uint64_t value) {
  const int shift = std::bit_width(value) - 7;
  if (shift <= 0) return value;
  const uint64_t kept = value >> shift;
  const uint64_t up = value >> (shift - 1) & 1;
  if (kept + up == 128 && shift == 57) return kept << shift;
  return (kept + up) << shift;
}

// The largest such number that is not above the value.
constexpr uint64_t Floor7(uint64_t value) {
  const int shift = std::bit_width(value) - 7;
  return shift <= 0 ? value : value >> shift << shift;
}

// The smallest such number that is not below the value, or the largest there is.
constexpr uint64_t Ceil7(uint64_t value) {
  const int shift = std::bit_width(value) - 7;
  if (shift <= 0 || Floor7(value) == value) return value;
  const uint64_t up = (value >> shift) + 1;
  return up == 128 && shift == 57 ? uint64_t{127} << 57 : up << shift;
}

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_ROUND7_H_
