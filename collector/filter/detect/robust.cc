#include "collector/filter/detect/robust.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace telltale::filter {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double MadScale(const std::vector<double>& values) {
  const double middle = Median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return 1.4826 * Median(std::move(distances));
}

Trend TheilSen(const std::vector<double>& x, const std::vector<double>& y) {
  Trend trend;
  const size_t n = std::min(x.size(), y.size());
  if (n < 3) return trend;
  std::vector<double> slopes;
  slopes.reserve(n * (n - 1) / 2);
  double s = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
      s += y[j] > y[i] ? 1 : y[j] < y[i] ? -1 : 0;
    }
  }
  trend.slope = Median(std::move(slopes));
  std::map<double, double> ties;
  for (size_t i = 0; i < n; ++i) ++ties[y[i]];
  const auto term = [](double t) { return t * (t - 1) * (2 * t + 5); };
  double variance = term(static_cast<double>(n));
  for (const auto& [value, times] : ties) variance -= term(times);
  variance /= 18;
  if (variance <= 0 || s <= 0) return trend;
  trend.p = std::erfc((s - 1) / std::sqrt(variance) / std::sqrt(2.0)) / 2;
  return trend;
}

double BinomialTail(int trials, int hits, double share) {
  if (hits <= 0) return 1;
  if (share <= 0 || hits > trials) return 0;
  if (share >= 1) return 1;
  double tail = 0;
  for (int k = hits; k <= trials; ++k) {
    tail +=
        std::exp(std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) - std::lgamma(trials - k + 1.0) +
                 k * std::log(share) + (trials - k) * std::log1p(-share));
  }
  return std::min(tail, 1.0);
}

}  // namespace telltale::filter
