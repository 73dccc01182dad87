// The labels of each vital in order of weight, the paper's "sort the sets" (Chopstix 2.2). Its
// series `heaviest` is what the first of them weighs, `ten_heaviest` what the first ten do: beside
// the vital's own graph they say whether a spike is one thing or many. Weights are the middle of
// what a label's bounds allow. Who it was, `telltale top` says. Labels are told apart by their
// stable id, so that those of one program's processes are one.

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "collector/filter/detect/detector.h"
#include "collector/filter/detect/detectors.h"
#include "collector/filter/detect/rates.h"

namespace telltale::filter {
namespace {

constexpr size_t kFirst = 10;

class Sort : public Detector {
 public:
  static constexpr DetectorFacts kFacts = {
      .name = "sort",
      .version = 2,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_LABELS,
      .about = "series of what the heaviest labels of each vital weigh: one thing or many",
      .make = Make<Sort>};

  explicit Sort(const telltale_filter_host& host) : Detector(host) {}

  void Epoch(const telltale_filter_epoch& epoch) override {
    if (!IsUsual(epoch)) return;
    ++epochs_;
    for (uint32_t v = 0; v < epoch.vital_count; ++v) {
      const auto& vital = *TELLTALE_FILTER_AT(telltale_filter_vital, epoch.vitals, v);
      if (vital.watched_ns == 0) continue;
      const std::vector<double> rates = Sorted(vital);
      if (rates.empty()) continue;
      const auto end = rates.begin() + static_cast<long>(std::min(kFirst, rates.size()));
      Point("heaviest", vital.name, epoch.start_ns, rates.front());
      Point("ten_heaviest", vital.name, epoch.start_ns, std::accumulate(rates.begin(), end, 0.0));
    }
  }

  void Save(StateWriter& to) const override { to.Put(epochs_); }
  bool Load(StateReader& from) override {
    epochs_ = from.Get<uint64_t>();
    return from.ok();
  }
  Learned HowFar() const override { return {epochs_, 1}; }

 private:
  // Of labels that are no waiting by choice, heaviest first, in base units per second.
  static std::vector<double> Sorted(const telltale_filter_vital& vital) {
    const double unit = std::string_view(vital.unit) == "ns" ? 1e9 : 1;
    const double per = 2 * unit * static_cast<double>(vital.watched_ns) / 1e9;
    std::map<uint64_t, double> by_label;
    std::set<std::vector<uint64_t>> seen;  // a label stands there for each stack that led to it
    for (uint32_t i = 0; i < vital.label_count; ++i) {
      const auto& label = *TELLTALE_FILTER_AT(telltale_filter_label, vital.labels, i);
      if (label.sub >= vital.sub_count ||
          TELLTALE_FILTER_AT(telltale_filter_sub, vital.subs, label.sub)->idle != 0) {
        continue;
      }
      std::vector<uint64_t> which = {label.stable_id, label.uid, label.sub};
      which.insert(which.end(), label.value, label.value + label.values);
      if (!seen.insert(std::move(which)).second) continue;
      by_label[label.stable_id] +=
          (static_cast<double>(label.low) + static_cast<double>(label.high)) / per;
    }
    std::vector<double> rates;
    for (const auto& [id, rate] : by_label) rates.push_back(rate);
    std::ranges::sort(rates, std::greater());
    return rates;
  }

  uint64_t epochs_ = 0;
};

}  // namespace

const telltale_filter* SortFilter() { return FilterOf<Sort>(); }

}  // namespace telltale::filter
