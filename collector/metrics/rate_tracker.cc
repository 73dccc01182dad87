#include "collector/metrics/rate_tracker.h"

#include <algorithm>

namespace telltale::metrics {

std::vector<double> RateTracker::Update(const NodeFigures& node) {
  const std::lock_guard lock(mutex_);
  Seen& seen = seen_[node.number];
  if (node.epochs > seen.epochs && seen.epochs > 0 && node.epoch_length_s > 0) {
    const double seconds =
        static_cast<double>(node.epochs - seen.epochs) * static_cast<double>(node.epoch_length_s);
    seen.rates.assign(node.subs.size(), 0);
    for (size_t i = 0; i < node.subs.size(); ++i) {
      const SubFigure& now = node.subs[i];
      const auto same = [&](const SubFigure& sub) {
        return sub.vital == now.vital && sub.sub == now.sub;
      };
      auto before = seen.subs.begin() + static_cast<ptrdiff_t>(std::min(i, seen.subs.size()));
      // Almost always in the same place as before.
      if (before == seen.subs.end() || !same(*before))
        before = std::ranges::find_if(seen.subs, same);
      const uint64_t base = before == seen.subs.end() ? 0 : before->weight;
      seen.rates[i] = static_cast<double>(now.weight - std::min(base, now.weight)) / seconds;
    }
  }
  if (node.epochs != seen.epochs) {
    seen.epochs = node.epochs;
    seen.subs = node.subs;
  }
  return seen.rates.size() == node.subs.size() ? seen.rates : std::vector<double>();
}

}  // namespace telltale::metrics
