// Repeatable randomness: every number is a function of what it stands for, so that an epoch drawn
// twice has the same bytes. Value type and free functions; any thread.

#ifndef TELLTALE_TESTS_FLEETSIM_NOISE_H_
#define TELLTALE_TESTS_FLEETSIM_NOISE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "sketch/round7.h"

namespace telltale::fleetsim {

// The mixing step of splitmix64 (Steele, Lea, Flood 2014).
constexpr uint64_t Mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
constexpr uint64_t Mix(uint64_t a, uint64_t b) { return Mix(a ^ Mix(b)); }
constexpr uint64_t HashText(std::string_view text) {  // FNV-1a
  uint64_t hash = 14695981039346656037ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return Mix(hash);
}

// In [0, 1).
constexpr double Uniform(uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

// exp(sigma * z), z standard normal (Box and Muller 1958): median 1.
inline double LogNormal(uint64_t hash, double sigma) {
  const double radius = std::sqrt(-2 * std::log(1 - Uniform(Mix(hash, 1))));
  return std::exp(sigma * radius * std::cos(2 * std::numbers::pi * Uniform(Mix(hash, 2))));
}

// `value` times `factor`, rounded; what was not 0 stays so. Values that come in steps (pages of
// memory, ticks of a clock) keep theirs, and what an agent rounded to seven bits is rounded again:
// else an epoch would be harder to compress than any that an agent sends.
inline uint64_t Scaled(uint64_t value, double factor) {
  if (value == 0) return 0;
  uint64_t step = 1;
  for (const uint64_t known : {1'000'000, 4096, 512}) {
    if (step == 1 && value % known == 0) step = known;
  }
  const double steps = static_cast<double>(value / step) * factor;
  const uint64_t scaled =
      step *
      (steps < 1
           ? 1
           : static_cast<uint64_t>(std::min(steps + 0.5, 0x1p57 / static_cast<double>(step))));
  return sketch::Floor7(value) == value ? sketch::Round7(scaled) : scaled;
}

// The same for noise: counts of a few stay, because noise on them is a coarse one that would make
// an epoch less like another than epochs are.
inline uint64_t Noisy(uint64_t value, double factor) {
  constexpr uint64_t kFew = 8;
  return value < kFew ? value : Scaled(value, factor);
}

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_NOISE_H_
