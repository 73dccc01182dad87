#include "collector/query/usual.h"

#include <algorithm>
#include <cmath>

namespace telltale::query {
namespace {

constexpr double kOfNormal = 1.4826;  // standard deviation over median distance of normal figures

// Of ascending figures; the nearest one.
double Quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

double MedianOf(const std::vector<double>& sorted) {
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

}  // namespace

std::optional<Usual> UsualOf(std::vector<double> rates, double floor) {
  if (rates.size() < kLeastPast) return std::nullopt;
  std::ranges::sort(rates);
  Usual usual;
  usual.median = MedianOf(rates);
  usual.low = Quantile(rates, 0.05);
  usual.high = Quantile(rates, 0.95);
  for (const double rate : rates) usual.distances.push_back(std::abs(rate - usual.median));
  std::ranges::sort(usual.distances);
  usual.deviation = std::max(
      {kOfNormal * MedianOf(usual.distances), kRelativeFloor * std::abs(usual.median), floor});
  return usual;
}

std::optional<UnusualWhile> FarthestWhile(const std::vector<Moment>& moments, const Usual& usual) {
  const auto severity = [&](size_t i) {
    return (moments[i].rate - usual.median) / usual.deviation;
  };
  size_t peak = moments.size();
  for (size_t i = 0; i < moments.size(); ++i) {
    if (peak == moments.size() || std::abs(severity(i)) > std::abs(severity(peak))) peak = i;
  }
  if (peak == moments.size() || std::abs(severity(peak)) < kUnusual) return std::nullopt;
  const double distance = std::abs(moments[peak].rate - usual.median);
  const auto as_far = static_cast<size_t>(usual.distances.end() -
                                          std::ranges::lower_bound(usual.distances, distance));
  if (static_cast<double>(as_far) > kMostAsFarShare * static_cast<double>(usual.distances.size())) {
    return std::nullopt;
  }
  const auto belongs = [&](size_t i) {
    return std::abs(severity(i)) >= kUnusual && (severity(i) > 0) == (severity(peak) > 0);
  };
  size_t first = peak, last = peak;
  while (first > 0 && (belongs(first - 1) || (first > 1 && belongs(first - 2)))) --first;
  while (last + 1 < moments.size() &&
         (belongs(last + 1) || (last + 2 < moments.size() && belongs(last + 2)))) {
    ++last;
  }
  UnusualWhile found;
  found.start_s = moments[first].start_s;
  found.end_s = moments[last].start_s + moments[last].length_s;
  found.peak = moments[peak].rate;
  found.severity = severity(peak);
  found.as_far = as_far;
  double weight = 0, time = 0;
  for (size_t i = first; i <= last; ++i) {
    weight += moments[i].rate * moments[i].length_s;
    time += moments[i].length_s;
  }
  found.rate = time > 0 ? weight / time : found.peak;
  return found;
}

}  // namespace telltale::query
