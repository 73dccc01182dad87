#include "sketch/label_merge.h"

#include <algorithm>

#include "sketch/saturating.h"

namespace telltale::sketch {
namespace {

// One label's mentions in the children, summed.
struct Sum {
  uint64_t id = 0;
  uint64_t low = 0, high = 0, samples = 0, estimate = 0;
  uint64_t thresholds = 0;  // of the children that list it
};

// No label of a child weighs more than all labels of it together.
uint64_t ThresholdOf(const LabelList& child) { return std::min(child.threshold, child.total); }

std::vector<Sum> SumById(std::span<const LabelList> children) {
  std::vector<Sum> sums;
  for (const LabelList& child : children) {
    for (const LabelWeight& label : child.labels) {
      sums.push_back({label.id, label.low, std::min(label.high, child.total), label.samples,
                      label.estimate, ThresholdOf(child)});
    }
  }
  std::ranges::sort(sums, {}, &Sum::id);
  size_t last = 0;
  for (size_t i = 1; i < sums.size(); ++i) {
    if (sums[i].id != sums[last].id) {
      sums[++last] = sums[i];
      continue;
    }
    sums[last].low = SaturatingAdd(sums[last].low, sums[i].low);
    sums[last].high = SaturatingAdd(sums[last].high, sums[i].high);
    sums[last].samples = SaturatingAdd(sums[last].samples, sums[i].samples);
    sums[last].estimate = SaturatingAdd(sums[last].estimate, sums[i].estimate);
    sums[last].thresholds = SaturatingAdd(sums[last].thresholds, sums[i].thresholds);
  }
  if (!sums.empty()) sums.resize(last + 1);
  return sums;
}

}  // namespace

LabelList MergeLabels(std::span<const LabelList> children, size_t keep) {
  LabelList merged;
  uint64_t thresholds = 0;
  for (const LabelList& child : children) {
    merged.total = SaturatingAdd(merged.total, child.total);
    merged.other_samples = SaturatingAdd(merged.other_samples, child.other_samples);
    thresholds = SaturatingAdd(thresholds, ThresholdOf(child));
  }
  const std::vector<Sum> sums = SumById(children);
  uint64_t lows = 0;
  for (const Sum& sum : sums) lows = SaturatingAdd(lows, sum.low);

  // A label that no child lists shares the total with all that are.
  merged.threshold = std::min(thresholds, FlooredSubtract(merged.total, lows));
  merged.labels.reserve(sums.size());
  for (const Sum& sum : sums) {
    const uint64_t unlisted = FlooredSubtract(thresholds, sum.thresholds);
    const uint64_t room = FlooredSubtract(merged.total, lows - std::min(lows, sum.low));
    const uint64_t high = std::min(SaturatingAdd(sum.high, unlisted), room);
    merged.labels.push_back({sum.id, sum.low, std::max(sum.low, high), sum.samples, sum.estimate});
  }
  std::ranges::sort(merged.labels, [](const LabelWeight& a, const LabelWeight& b) {
    return a.low != b.low ? a.low > b.low : a.id < b.id;
  });
  for (size_t i = keep; i < merged.labels.size(); ++i) {
    merged.threshold = std::max(merged.threshold, merged.labels[i].high);
    merged.other_samples = SaturatingAdd(merged.other_samples, merged.labels[i].samples);
  }
  if (merged.labels.size() > keep) merged.labels.resize(keep);
  return merged;
}

void DivideTotal(LabelList& list) {
  unsigned __int128 lows = 0, widths = 0;
  for (const LabelWeight& label : list.labels) {
    lows += label.low;
    widths += FlooredSubtract(label.high, label.low);
  }
  const unsigned __int128 room = list.total > lows ? list.total - lows : 0;
  for (LabelWeight& label : list.labels) {
    const uint64_t width = FlooredSubtract(label.high, label.low);
    // Both factors are of 64 bits.
    const uint64_t part = room >= widths ? width : static_cast<uint64_t>(width * room / widths);
    label.estimate = SaturatingAdd(label.low, part);
  }
}

Rest OtherOf(const LabelList& list) {
  uint64_t low = 0, high = 0;
  for (const LabelWeight& label : list.labels) {
    low = SaturatingAdd(low, label.low);
    high = SaturatingAdd(high, label.high);
  }
  return {FlooredSubtract(list.total, high), FlooredSubtract(list.total, low)};
}

}  // namespace telltale::sketch
