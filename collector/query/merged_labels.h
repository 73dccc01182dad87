// Lists of labels with bounds on their way to one sum (sketch/label_merge.h), from windows and from
// raw epochs alike. Belongs to one answer and its thread.

#ifndef TELLTALE_COLLECTOR_QUERY_MERGED_LABELS_H_
#define TELLTALE_COLLECTOR_QUERY_MERGED_LABELS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "sketch/label_merge.h"

namespace telltale::query {

// Many children are merged early: the intervals stay right but get wider, so memory is bounded.
class MergedLabels {
 public:
  static constexpr size_t kMaxPending = 100'000, kKeptEarly = 5'000;

  void Add(sketch::LabelList child);
  // Everything added; no label is put away that was not before.
  const sketch::LabelList& Sum();
  bool merged_early() const { return merged_early_; }

 private:
  std::vector<sketch::LabelList> pending_;
  size_t pending_labels_ = 0;
  bool merged_early_ = false;
};

// What an answer notes if any of its sums was merged early.
inline constexpr std::string_view kMergedEarlyNote =
    "so many labels were merged in parts: their bounds are wider than they need be";

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_MERGED_LABELS_H_
