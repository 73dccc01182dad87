#include "sketch/miss_curve.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "sketch/saturating.h"

namespace telltale::sketch {
namespace {

constexpr uint32_t kOctaves = 64;
constexpr double kLeastMiss = 1e-6;  // hazards are finite
constexpr double kNever = 1e-5;      // heavier labels follow from that point

uint32_t OctaveOf(double weight) {
  return weight < 2 ? 0 : static_cast<uint32_t>(std::min(std::ilogb(weight), 63));
}

struct Group {
  double cells = 0, sum = 0;
};
using Groups = std::array<Group, kOctaves>;  // by octave

// A label that leads a cell on some CPU, as far as its weight can be told.
struct Leader {
  double weight = 0;
  bool sampled = false;
};

// Mean of a quantity over octaves, taken to hold in their middles.
class Rate {
 public:
  explicit Rate(const Groups& groups) {
    for (uint32_t octave = 0; octave < kOctaves; ++octave) {
      if (groups[octave].cells == 0) continue;
      points_.push_back({octave + 0.5, groups[octave].sum / groups[octave].cells});
    }
  }
  double At(double weight) const {
    if (points_.empty() || weight < 1) return 0;
    const double at = std::log2(weight);
    if (at <= points_.front().first) return points_.front().second;
    for (size_t i = 1; i < points_.size(); ++i) {
      const auto [left, low] = points_[i - 1];
      const auto [right, high] = points_[i];
      if (at <= right) return low + (high - low) * (at - left) / (right - left);
    }
    return points_.back().second;
  }

 private:
  std::vector<std::pair<double, double>> points_;
};

// By octave of weight: share of leaders without a sample. Where there are few, what holds of half
// the weight says more: twice the weight, twice the hazard.
std::array<double, kOctaves> MissOfLeaders(std::span<const Leader> leaders, uint64_t quantum) {
  constexpr double kFew = 2;
  Groups missed{};
  for (const Leader& leader : leaders) {
    if (leader.weight < static_cast<double>(quantum)) continue;
    Group& group = missed[OctaveOf(leader.weight)];
    ++group.cells;
    group.sum += leader.sampled ? 0 : 1;
  }
  std::array<double, kOctaves> share;
  share.fill(1);
  double before = std::sqrt(0.5);
  for (auto octave = static_cast<uint32_t>(std::bit_width(quantum)) - 1; octave < kOctaves;
       ++octave) {
    const double expected = before * before;
    const Group& group = missed[octave];
    share[octave] = before = (group.sum + kFew * expected) / (group.cells + kFew);
  }
  return share;
}

}  // namespace

double MissCurve::At(uint64_t weight) const {
  if (miss.empty() || weight < uint64_t{1} << std::min(from_log2, 63U)) return 1;
  const auto hazard = [&](size_t i) { return -std::log(std::clamp(miss[i], kLeastMiss, 1.0)); };
  const size_t octave = static_cast<size_t>(std::bit_width(weight)) - 1 - from_log2;
  const double past = std::ldexp(static_cast<double>(weight), -static_cast<int>(from_log2));
  if (octave + 1 >= miss.size()) {
    const size_t last = miss.size() - 1;
    return std::exp(-hazard(last) * std::ldexp(past, -static_cast<int>(last)));
  }
  const double part = std::ldexp(past, -static_cast<int>(octave)) - 1;
  return std::exp(-hazard(octave) - part * (hazard(octave + 1) - hazard(octave)));
}

MissCurve MeasureMiss(const VotedCells& cells, std::span<const SampledLabel> sampled,
                      uint64_t refused, uint64_t quantum) {
  MissCurve curve;
  if (quantum == 0 || cells.Sum() < quantum) return curve;
  uint64_t kept = 0;
  for (const SampledLabel& label : sampled) kept = SaturatingAdd(kept, label.samples);
  const double of_run =
      kept == 0 ? 0
                : static_cast<double>(kept) / static_cast<double>(SaturatingAdd(kept, refused)) / 2;
  std::vector<Place> seen;
  std::vector<double> runs(cells.columns());  // sampled, of those who do not lead
  for (const SampledLabel& label : sampled) {
    seen.push_back(label.place);
    if (cells.MarginAt(label.place) > 0) continue;
    runs[label.place.cell] += static_cast<double>(FlooredSubtract(label.samples, label.repeated)) +
                              static_cast<double>(label.repeated) * of_run;
  }
  std::ranges::sort(seen);
  const std::vector<uint64_t> competing = Competing(cells);
  std::vector<Leader> leaders;
  for (const Lead& lead : cells.leads) {
    const uint32_t cell = lead.place.cell;
    // Whoever leads where another leads too took part in what is contested; how much is not known.
    const uint64_t weight = lead.margin == cells.GreatestMargin(cell)
                                ? FlooredSubtract(cells.total[cell], competing[cell])
                                : lead.margin + cells.contested[cell] / 4;
    leaders.push_back({static_cast<double>(weight), std::ranges::binary_search(seen, lead.place)});
  }
  Groups taken{};
  for (uint32_t cell = 0; cell < cells.columns(); ++cell) {
    if (competing[cell] == 0) continue;
    Group& group = taken[OctaveOf(static_cast<double>(competing[cell]))];
    ++group.cells;
    group.sum += runs[cell];
  }
  const Rate runs_at(taken);
  const std::array<double, kOctaves> missed = MissOfLeaders(leaders, quantum);
  curve.from_log2 = static_cast<uint32_t>(std::bit_width(quantum) - 1);
  for (uint32_t octave = curve.from_log2; octave < kOctaves; ++octave) {
    const double weight = std::ldexp(1.0, static_cast<int>(octave));
    // Shares hold in the middle of their octaves; here two of them meet.
    const double leading = (missed[octave] + (octave > 0 ? missed[octave - 1] : 1)) / 2;
    double sum = 0;
    for (uint32_t cell = 0; cell < cells.columns(); ++cell) {
      const auto others = static_cast<double>(competing[cell]);
      if (weight > static_cast<double>(cells.total[cell]) / 2) {
        sum += leading;
      } else {
        sum += std::pow(1 - weight / (others + weight), runs_at.At(others + weight));
      }
    }
    const double before = curve.miss.empty() ? 1 : curve.miss.back();
    curve.miss.push_back(std::min(before, sum / cells.columns()));
    if (curve.miss.back() < kNever) break;
  }
  return curve;
}

}  // namespace telltale::sketch
