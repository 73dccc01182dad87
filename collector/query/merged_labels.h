// Lists of labels with bounds on their way to one sum (sketch/label_merge.h), from windows and from
// raw epochs alike. Belongs to one answer, one thread at a time.

#ifndef TELLTALE_COLLECTOR_QUERY_MERGED_LABELS_H_
#define TELLTALE_COLLECTOR_QUERY_MERGED_LABELS_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "sketch/label_merge.h"

namespace telltale::query {

// Of very many labels the lightest are put away early: the intervals stay right but get wider, so
// memory is bounded.
class MergedLabels {
 public:
  static constexpr size_t kMaxLabels = 100'000, kKeptEarly = 5'000;

  void Add(const sketch::LabelList& child);
  // All that was added to another one.
  void Add(const MergedLabels& other);
  // Everything added; no label is put away that was not before.
  const sketch::LabelList& Sum();
  bool merged_early() const { return merged_early_; }

 private:
  void Bound();

  sketch::LabelSums sums_;
  std::optional<sketch::LabelList> list_;  // of all that was added, once it was asked for
  bool merged_early_ = false;
};

// What an answer notes if any of its sums was merged early.
inline constexpr std::string_view kMergedEarlyNote =
    "so many labels were merged in parts: their bounds are wider than they need be";

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_MERGED_LABELS_H_
