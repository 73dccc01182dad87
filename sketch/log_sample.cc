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

// Powers that a load passes, spread evenly over the CPUs; of less than a quantum a CPU, some pass
// t^0.
double PowersOnAll(double weight, const Sampling& sampling) {
  const double quanta = weight / static_cast<double>(sampling.quantum) / sampling.cpus;
  if (quanta < 1) return sampling.cpus * quanta;
  return sampling.cpus * (std::floor(std::log2(quanta) / sampling.t_log2) + 1);
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
  if (n == 0 || total < sampling.quantum) return 1;
  const double powers = PowersOnAll(static_cast<double>(total), sampling);
  const double share = static_cast<double>(n) / static_cast<double>(total);
  const double kept = n > others ? std::max(sampling.kept, sampling.kept_first) : sampling.kept;
  // Samples that are there beyond the powers are as good as more powers.
  return kept > 1 ? std::pow(1 - share, powers * kept) : std::pow(1 - share * kept, powers);
}

double MissBurst(uint64_t n, uint64_t others, const Sampling& sampling) {
  const uint64_t there = others / sampling.cpus;
  if (n == 0 || SaturatingAdd(n, there) < sampling.quantum) return 1;
  const double kept = std::min(sampling.kept, 1.0);
  if (there < sampling.quantum) return 1 - kept;  // from below t^0 to above it
  const double growth = 1 + static_cast<double>(n) / static_cast<double>(there);
  return 1 - kept * std::min(1.0, std::log2(growth) / sampling.t_log2);
}

double KeptShare(uint64_t samples, std::span<const CellGroup> loads, const Sampling& sampling) {
  double powers = 0;
  for (const CellGroup& group : loads) {
    powers += group.cells * PowersOnAll(static_cast<double>(group.weight), sampling);
  }
  return powers > 0 ? static_cast<double>(samples) / powers : 1;
}

Miss AverageMiss(uint64_t n, std::span<const CellGroup> loads, uint64_t cells,
                 const Sampling& sampling) {
  if (cells == 0) return {};
  const auto all = static_cast<double>(cells);
  double loaded = 0, spread = 0, burst = 0;
  const auto add = [&](uint64_t weight, double count) {
    spread += count * MissSpread(n, weight, sampling);
    burst += count * MissBurst(n, weight, sampling);
  };
  for (const CellGroup& group : loads) {
    const double count = std::min(group.cells, all - loaded);
    add(group.weight, count);
    loaded += count;
  }
  add(0, all - loaded);
  return {spread / all, burst / all};
}

}  // namespace telltale::sketch
