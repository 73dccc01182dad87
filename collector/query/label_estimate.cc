#include "collector/query/label_estimate.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "storage/rollup/portable.h"

namespace telltale::query {
namespace {

struct Label {
  double low = 0, high = 0, sampled = 0;
  int entries = 0;
};

using LabelKey = std::tuple<uint32_t, uint32_t, bool, std::vector<uint64_t>>;

LabelKey KeyOf(const v1::FoldedSample& sample) {
  return {sample.exe(), sample.uid(), sample.irq(), {sample.label().begin(), sample.label().end()}};
}

}  // namespace

std::vector<EntryEstimate> EstimateEntries(const v1::Vital& vital) {
  std::map<LabelKey, Label> labels;
  for (const v1::FoldedSample& sample : vital.samples()) {
    Label& label = labels[KeyOf(sample)];
    label.low = std::max(label.low, static_cast<double>(sample.low()));
    label.high = std::max(label.high, static_cast<double>(sample.high()));
    label.sampled += static_cast<double>(sample.sampled_weight());
    ++label.entries;
  }
  double total = 0, low_sum = 0, width_sum = 0;
  for (const v1::SubSeries& sub : vital.subs()) total += static_cast<double>(sub.weight());
  for (auto& [key, label] : labels) {
    // Samples prove what they weigh, whatever the cells say.
    label.low = std::max(label.low, label.sampled);
    label.high = std::max(label.high, label.low);
    low_sum += label.low;
    width_sum += label.high - label.low;
  }
  const double f = width_sum > 0 ? std::clamp((total - low_sum) / width_sum, 0.0, 1.0) : 0.0;

  std::vector<EntryEstimate> estimates;
  estimates.reserve(static_cast<size_t>(vital.samples_size()));
  for (const v1::FoldedSample& sample : vital.samples()) {
    const Label& label = labels[KeyOf(sample)];
    const double sampled = static_cast<double>(sample.sampled_weight());
    const double value = label.low + f * (label.high - label.low);
    EntryEstimate estimate;
    if (label.entries == 1) {
      estimate = {value, label.low, label.high};
    } else {
      const double share = label.sampled > 0 ? sampled / label.sampled : 1.0 / label.entries;
      estimate.low = sampled;
      estimate.high = label.high - (label.sampled - sampled);
      estimate.value = std::clamp(value * share, estimate.low, estimate.high);
    }
    estimates.push_back(estimate);
  }
  return estimates;
}

std::vector<uint64_t> LabelIds(const v1::Vital& vital, const v1::VitalDescriptor* descriptor,
                               const v1::Tables& tables) {
  const storage::TableView view(tables);
  std::vector<uint64_t> ids;
  ids.reserve(static_cast<size_t>(vital.samples_size()));
  for (const v1::FoldedSample& sample : vital.samples()) {
    ids.push_back(storage::ExactId(storage::LabelOf(sample, descriptor, view)));
  }
  return ids;
}

}  // namespace telltale::query
