#include "sketch/sketch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace telltale::sketch {

uint32_t Column(uint64_t hash, uint32_t columns) {
  const int bits = std::countr_zero(columns);
  return bits == 0 ? 0 : static_cast<uint32_t>(hash >> (64 - bits));
}

LoadDigest Digest(std::span<const uint64_t> loads) {
  LoadDigest digest;
  std::array<uint64_t, 64> with_exponent{};
  for (const uint64_t load : loads) {
    if (load != 0) ++with_exponent[std::bit_width(load) - 1];
  }
  for (uint32_t exponent = 0; exponent < 64; ++exponent) {
    if (with_exponent[exponent] == 0) continue;
    digest.exponents.push_back(exponent);
    digest.cells.push_back(with_exponent[exponent]);
  }
  return digest;
}

std::vector<CellGroup> Loads(const LoadDigest& digest) {
  constexpr int kParts = 4;
  std::vector<CellGroup> groups;
  for (size_t i = 0; i < std::min(digest.exponents.size(), digest.cells.size()); ++i) {
    const double power = std::ldexp(1.0, static_cast<int>(std::min(digest.exponents[i], 62U)));
    for (int part = 0; part < kParts; ++part) {
      const double weight = power * (1 + (part + 0.5) / kParts);
      groups.push_back({static_cast<uint64_t>(std::llround(weight)),
                        static_cast<double>(digest.cells[i]) / kParts});
    }
  }
  return groups;
}

uint64_t LargestCellBound(std::span<const uint32_t> exponents, uint64_t total) {
  if (exponents.empty()) return 0;
  const uint32_t highest = *std::ranges::max_element(exponents);
  if (highest >= 63) return total;
  return std::min(total, (uint64_t{2} << highest) - 1);
}

}  // namespace telltale::sketch
