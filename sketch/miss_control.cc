#include "sketch/miss_control.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace telltale::sketch {
namespace {

constexpr int kSteps = 5;                       // of Newton's method
constexpr double kLongestStep = 1.5;            // in log odds
constexpr double kPriorVariance = 3;            // of a shift
constexpr double kLeast = 1e-6, kMost = 0.999;  // odds are finite

struct Slope {
  double excess = 0;  // missed beyond what was stated
  double curvature = 0;
};

double LogOdds(double p) { return std::log(p / (1 - p)); }
double FromLogOdds(double odds) { return 1 / (1 + std::exp(-odds)); }

// Points that share their log odds, as they must not grow.
struct Level {
  double log_odds = 0, weight = 0;
  size_t points = 0;
};

void Append(Level next, std::vector<Level>& levels) {
  while (!levels.empty() && levels.back().log_odds < next.log_odds) {
    const Level& last = levels.back();
    const double weight = last.weight + next.weight;
    next = {(last.log_odds * last.weight + next.log_odds * next.weight) / weight, weight,
            last.points + next.points};
    levels.pop_back();
  }
  levels.push_back(next);
}

}  // namespace

MissCurve Corrected(MissCurve curve, std::span<const ExactLabel> group) {
  const size_t points = curve.miss.size();
  std::vector<double> shift(points, 0.0);
  std::vector<double> before;
  for (double& miss : curve.miss) {
    miss = std::clamp(miss, kLeast, kMost);
    before.push_back(LogOdds(miss));
  }
  for (int step = 0; step < kSteps; ++step) {
    std::vector<Slope> slopes(points + 1);
    for (const ExactLabel& label : group) {
      if (label.weight >> std::min(curve.from_log2, 63U) == 0) continue;
      const size_t left = static_cast<size_t>(std::bit_width(label.weight)) - 1 - curve.from_log2;
      if (left >= points) continue;
      const double past = std::log2(static_cast<double>(label.weight)) -
                          static_cast<double>(left + curve.from_log2);
      const double stated = curve.At(label.weight);
      const double excess = (label.missed ? 1 : 0) - stated, curvature = stated * (1 - stated);
      slopes[left].excess += excess * (1 - past);
      slopes[left].curvature += curvature * (1 - past);
      slopes[left + 1].excess += excess * past;
      slopes[left + 1].curvature += curvature * past;
    }
    std::vector<Level> levels;
    for (size_t i = 0; i < points; ++i) {
      const double weight = slopes[i].curvature + 1 / kPriorVariance;
      const double towards = (slopes[i].excess - shift[i] / kPriorVariance) / weight;
      shift[i] += std::clamp(towards, -kLongestStep, kLongestStep);
      Append({before[i] + shift[i], weight, 1}, levels);
    }
    size_t i = 0;
    for (const Level& level : levels) {
      for (size_t end = i + level.points; i < end; ++i) {
        shift[i] = level.log_odds - before[i];
        curve.miss[i] = std::min(FromLogOdds(level.log_odds), kMost);
      }
    }
  }
  return curve;
}

MissCurve CorrectedUpwards(const MissCurve& curve, std::span<const ExactLabel> group) {
  MissCurve corrected = Corrected(curve, group);
  std::ranges::transform(corrected.miss, curve.miss, corrected.miss.begin(), std::ranges::max);
  return corrected;
}

}  // namespace telltale::sketch
