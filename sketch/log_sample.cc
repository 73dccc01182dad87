#include "sketch/log_sample.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sketch/saturating.h"

namespace telltale::sketch {
namespace {

// floor(log_t(quanta)) for quanta >= 1.
uint32_t FloorLog(uint64_t quanta, uint32_t t_log2) {
  return static_cast<uint32_t>(std::bit_width(quanta) - 1) / t_log2;
}

}  // namespace

uint64_t CrossedPower(uint64_t before, uint64_t after, uint64_t quantum, uint32_t t_log2) {
  const uint64_t a = before / quantum, b = after / quantum;
  if (b == 0) return 0;
  const uint64_t power = uint64_t{1} << FloorLog(b, t_log2) * t_log2;
  return power > a ? power : 0;
}

uint32_t PowersPassed(uint64_t total, uint64_t quantum, uint32_t t_log2) {
  const uint64_t quanta = total / quantum;
  return quanta == 0 ? 0 : FloorLog(quanta, t_log2) + 1;
}

double MissSpread(uint64_t n, uint64_t others, const Sampling& sampling) {
  const uint64_t total = SaturatingAdd(n, others);
  const uint64_t quanta = total / sampling.quantum;
  if (n == 0 || quanta == 0) return 1;
  const uint64_t quanta_each = quanta / sampling.cpus;
  const uint64_t on_one = FloorLog(quanta, sampling.t_log2);
  const uint64_t on_all =
      quanta_each == 0 ? 0 : uint64_t{sampling.cpus} * FloorLog(quanta_each, sampling.t_log2);
  const double share = static_cast<double>(n) / static_cast<double>(total);
  return std::pow(1 - share, static_cast<double>(std::min(on_one, on_all)));
}

double MissBurst(uint64_t n, uint64_t others, const Sampling& sampling) {
  const uint64_t total = SaturatingAdd(n, others);
  if (n == 0 || total < sampling.quantum) return 1;
  if (others < sampling.quantum) return 0;  // from below t^0 to above it
  const double growth = 1 + static_cast<double>(n) / static_cast<double>(others);
  return std::max(0.0, 1 - std::log2(growth) / sampling.t_log2);
}

Miss AverageMiss(uint64_t n, std::span<const CellGroup> loads, uint64_t cells,
                 const Sampling& sampling) {
  if (cells == 0) return {};
  uint64_t loaded = 0;
  double spread = 0, burst = 0;
  const auto add = [&](uint64_t weight, uint64_t count) {
    spread += static_cast<double>(count) * MissSpread(n, weight, sampling);
    burst += static_cast<double>(count) * MissBurst(n, weight, sampling);
  };
  for (const CellGroup& group : loads) {
    const uint64_t count = std::min(group.cells, cells - loaded);
    add(group.weight, count);
    loaded += count;
  }
  add(0, cells - loaded);
  return {spread / static_cast<double>(cells), burst / static_cast<double>(cells)};
}

}  // namespace telltale::sketch
