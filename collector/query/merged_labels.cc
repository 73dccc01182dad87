#include "collector/query/merged_labels.h"

#include <limits>
#include <utility>

namespace telltale::query {

void MergedLabels::Bound() {
  list_.reset();
  if (sums_.labels() < kMaxLabels) return;
  sketch::LabelSums kept;
  kept.Add(sums_.Merged(kKeptEarly));
  sums_ = std::move(kept);
  merged_early_ = true;
}

void MergedLabels::Add(const sketch::LabelList& child) {
  sums_.Add(child);
  Bound();
}

void MergedLabels::Add(const MergedLabels& other) {
  merged_early_ = merged_early_ || other.merged_early_;
  sums_.Add(other.sums_);
  Bound();
}

const sketch::LabelList& MergedLabels::Sum() {
  if (!list_.has_value()) list_ = sums_.Merged(std::numeric_limits<size_t>::max());
  return *list_;
}

}  // namespace telltale::query
