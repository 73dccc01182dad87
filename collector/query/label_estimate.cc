#include "collector/query/label_estimate.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "sketch/label_merge.h"
#include "sketch/saturating.h"
#include "storage/rollup/portable.h"

namespace telltale::query {
namespace {

struct Label {
  uint64_t low = 0, high = 0, sampled = 0;
  double value = 0;
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
    label.low = std::max(label.low, sample.low());
    label.high = std::max(label.high, sample.high());
    label.sampled = sketch::SaturatingAdd(label.sampled, sample.sampled_weight());
    ++label.entries;
  }
  sketch::LabelList list;
  for (const v1::SubSeries& sub : vital.subs()) {
    list.total = sketch::SaturatingAdd(list.total, sub.weight());
  }
  for (auto& [key, label] : labels) {
    // Samples prove what they weigh, whatever the cells say.
    label.low = std::max(label.low, label.sampled);
    label.high = std::max(label.high, label.low);
    list.labels.push_back({0, label.low, label.high});
  }
  sketch::DivideTotal(list);
  auto divided = list.labels.begin();
  for (auto& [key, label] : labels) label.value = static_cast<double>((divided++)->estimate);

  std::vector<EntryEstimate> estimates;
  estimates.reserve(static_cast<size_t>(vital.samples_size()));
  for (const v1::FoldedSample& sample : vital.samples()) {
    const Label& label = labels[KeyOf(sample)];
    const auto sampled = static_cast<double>(sample.sampled_weight());
    const auto low = static_cast<double>(label.low), high = static_cast<double>(label.high),
               all_sampled = static_cast<double>(label.sampled);
    EntryEstimate estimate;
    if (label.entries == 1) {
      estimate = {label.value, low, high};
    } else {
      const double share = all_sampled > 0 ? sampled / all_sampled : 1.0 / label.entries;
      estimate.low = sampled;
      estimate.high = high - (all_sampled - sampled);
      estimate.value = std::clamp(label.value * share, estimate.low, estimate.high);
    }
    estimates.push_back(estimate);
  }
  return estimates;
}

std::vector<EntryEstimate> EstimateStacks(const v1::Vital& vital,
                                          std::vector<EntryEstimate> entries) {
  for (int i = 0; i < vital.samples_size(); ++i) {
    EntryEstimate& entry = entries[static_cast<size_t>(i)];
    entry.low = std::min(entry.low, static_cast<double>(vital.samples(i).sampled_weight()));
  }
  return entries;
}

std::vector<uint64_t> LabelIds(const v1::Vital& vital, const v1::VitalDescriptor* descriptor,
                               const v1::Tables& tables) {
  const storage::TableView view(tables);
  std::vector<uint64_t> ids;
  ids.reserve(static_cast<size_t>(vital.samples_size()));
  for (const v1::FoldedSample& sample : vital.samples()) {
    ids.push_back(storage::ExactId(storage::LabelViewOf(sample, descriptor, view)));
  }
  return ids;
}

}  // namespace telltale::query
