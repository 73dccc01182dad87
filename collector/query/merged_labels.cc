#include "collector/query/merged_labels.h"

#include <limits>
#include <utility>

namespace telltale::query {

void MergedLabels::Add(sketch::LabelList child) {
  pending_labels_ += child.labels.size();
  pending_.push_back(std::move(child));
  if (pending_labels_ < kMaxPending) return;
  sketch::LabelList sum = sketch::MergeLabels(pending_, kKeptEarly);
  merged_early_ = true;
  pending_labels_ = sum.labels.size();
  pending_.clear();
  pending_.push_back(std::move(sum));
}

const sketch::LabelList& MergedLabels::Sum() {
  if (pending_.size() != 1) {
    sketch::LabelList sum = sketch::MergeLabels(pending_, std::numeric_limits<size_t>::max());
    pending_.clear();
    pending_.push_back(std::move(sum));
  }
  return pending_.front();
}

}  // namespace telltale::query
