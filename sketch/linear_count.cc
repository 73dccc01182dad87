#include "sketch/linear_count.h"

#include <bit>
#include <cmath>

namespace telltale::sketch {

Distinct CountDistinct(std::span<const uint64_t> bitmap) {
  const double m = 64.0 * static_cast<double>(bitmap.size());
  uint64_t set = 0;
  for (const uint64_t word : bitmap) set += static_cast<uint64_t>(std::popcount(word));
  if (set == 0) return {};
  Distinct distinct;
  double zero = m - static_cast<double>(set);
  if (zero == 0) {
    distinct.full = true;
    zero = 1;  // the most that can be told from m bits
  }
  const double n = -m * std::log(zero / m);
  const double load = n / m;
  distinct.estimate = static_cast<uint64_t>(std::llround(n));
  distinct.relative_error = std::sqrt(m * (std::exp(load) - load - 1)) / n;
  return distinct;
}

bool Add(std::span<const uint64_t> other, std::span<uint64_t> into) {
  if (other.size() != into.size()) return false;
  for (size_t i = 0; i < into.size(); ++i) into[i] |= other[i];
  return true;
}

}  // namespace telltale::sketch
