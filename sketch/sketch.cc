#include "sketch/sketch.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sketch/saturating.h"

namespace telltale::sketch {

uint32_t Column(uint64_t hash, uint32_t row, uint32_t columns) {
  const int bits = std::countr_zero(columns);
  if (bits == 0) return 0;
  return static_cast<uint32_t>(std::rotl(hash, static_cast<int>(row) * bits) >> (64 - bits));
}

bool Add(const Cells& other, Cells& into) {
  if (other.seed_id != into.seed_id || other.rows != into.rows || other.columns != into.columns ||
      other.cell.size() != into.cell.size()) {
    return false;
  }
  for (size_t i = 0; i < into.cell.size(); ++i) {
    into.cell[i] = SaturatingAdd(into.cell[i], other.cell[i]);
  }
  return true;
}

Interval Estimate(const Cells& cells, uint64_t hash, uint64_t proved) {
  Interval found{0, ~uint64_t{0}};
  for (uint32_t row = 0; row < cells.rows; ++row) {
    const size_t index = size_t{row} * cells.columns + Column(hash, row, cells.columns);
    found.high = std::min(found.high, cells.cell[index]);
  }
  found.low = std::min(proved, found.high);
  return found;
}

LoadDigest Digest(const Cells& cells) {
  LoadDigest digest;
  std::array<uint64_t, 64> with_exponent{};
  for (uint32_t row = 0; row < cells.rows; ++row) {
    uint64_t sum = 0;
    for (uint32_t column = 0; column < cells.columns; ++column) {
      const uint64_t cell = cells.cell[size_t{row} * cells.columns + column];
      if (cell == 0) continue;
      sum = SaturatingAdd(sum, cell);
      ++with_exponent[std::bit_width(cell) - 1];
    }
    digest.total = std::max(digest.total, sum);
  }
  for (uint32_t exponent = 0; exponent < 64; ++exponent) {
    if (with_exponent[exponent] == 0) continue;
    digest.exponents.push_back(exponent);
    digest.cells.push_back(with_exponent[exponent]);
  }
  return digest;
}

std::vector<CellGroup> Loads(const LoadDigest& digest) {
  std::vector<CellGroup> groups;
  for (size_t i = 0; i < digest.exponents.size(); ++i) {
    const uint64_t power = uint64_t{1} << digest.exponents[i];
    groups.push_back({power + power / 2, digest.cells[i]});
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
