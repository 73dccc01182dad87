#include "sketch/label_merge.h"

#include <algorithm>

#include "sketch/saturating.h"

namespace telltale::sketch {
namespace {

using Totals = LabelSums::Totals;

struct IdSum {
  uint64_t id = 0;
  LabelSums::Sum sum;
};

// No label of a child weighs more than all labels of it together.
uint64_t ThresholdOf(const LabelList& child) { return std::min(child.threshold, child.total); }

LabelSums::Sum SumOf(const LabelWeight& label, const LabelList& child) {
  return {label.low, std::min(label.high, child.total), label.samples, label.estimate,
          ThresholdOf(child)};
}

void AddTo(const LabelSums::Sum& from, LabelSums::Sum& to) {
  to.low = SaturatingAdd(to.low, from.low);
  to.high = SaturatingAdd(to.high, from.high);
  to.samples = SaturatingAdd(to.samples, from.samples);
  to.estimate = SaturatingAdd(to.estimate, from.estimate);
  to.thresholds = SaturatingAdd(to.thresholds, from.thresholds);
}

void AddTo(const Totals& from, Totals& to) {
  to.total = SaturatingAdd(to.total, from.total);
  to.other_samples = SaturatingAdd(to.other_samples, from.other_samples);
  to.thresholds = SaturatingAdd(to.thresholds, from.thresholds);
}

Totals TotalsOf(const LabelList& child) {
  return {child.total, child.other_samples, ThresholdOf(child)};
}

// Of a few children a sort is quicker than a table.
std::vector<IdSum> SumById(std::span<const LabelList> children) {
  std::vector<IdSum> sums;
  for (const LabelList& child : children) {
    for (const LabelWeight& label : child.labels) sums.push_back({label.id, SumOf(label, child)});
  }
  std::ranges::sort(sums, {}, &IdSum::id);
  size_t last = 0;
  for (size_t i = 1; i < sums.size(); ++i) {
    if (sums[i].id != sums[last].id) {
      sums[++last] = sums[i];
    } else {
      AddTo(sums[i].sum, sums[last].sum);
    }
  }
  if (!sums.empty()) sums.resize(last + 1);
  return sums;
}

// The list of sums of all children.
LabelList ListOf(const std::vector<IdSum>& sums, const Totals& all, size_t keep) {
  LabelList merged;
  merged.total = all.total;
  merged.other_samples = all.other_samples;
  uint64_t lows = 0;
  for (const IdSum& one : sums) lows = SaturatingAdd(lows, one.sum.low);

  // A label that no child lists shares the total with all that are.
  merged.threshold = std::min(all.thresholds, FlooredSubtract(merged.total, lows));
  merged.labels.reserve(sums.size());
  for (const auto& [id, sum] : sums) {
    const uint64_t unlisted = FlooredSubtract(all.thresholds, sum.thresholds);
    const uint64_t room = FlooredSubtract(merged.total, lows - std::min(lows, sum.low));
    const uint64_t high = std::min(SaturatingAdd(sum.high, unlisted), room);
    merged.labels.push_back({id, sum.low, std::max(sum.low, high), sum.samples, sum.estimate});
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

}  // namespace

LabelList MergeLabels(std::span<const LabelList> children, size_t keep) {
  Totals all;
  for (const LabelList& child : children) AddTo(TotalsOf(child), all);
  return ListOf(SumById(children), all, keep);
}

void LabelSums::Add(const LabelList& child) {
  AddTo(TotalsOf(child), all_);
  for (const LabelWeight& label : child.labels) AddTo(SumOf(label, child), sums_[label.id]);
}

void LabelSums::Add(const LabelSums& other) {
  AddTo(other.all_, all_);
  for (const auto& [id, sum] : other.sums_) AddTo(sum, sums_[id]);
}

LabelList LabelSums::Merged(size_t keep) const {
  std::vector<IdSum> sums;
  sums.reserve(sums_.size());
  for (const auto& [id, sum] : sums_) sums.push_back({id, sum});
  return ListOf(sums, all_, keep);
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
