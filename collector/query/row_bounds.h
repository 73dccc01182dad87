// Between which two figures the rows of an answer from raw epochs lie (sites, stacks, executables
// known by samples). A row is a sum of labels. Each epoch lists some labels with an interval; one
// that it does not list may weigh up to the epoch's threshold there, so a label's high grows by the
// thresholds of the epochs without it, as in windows (sketch/label_merge.h, the one merge of both).
//
// A label that no epoch lists is in no row; the answer's `other` holds it. Belongs to one answer
// and its thread.

#ifndef TELLTALE_COLLECTOR_QUERY_ROW_BOUNDS_H_
#define TELLTALE_COLLECTOR_QUERY_ROW_BOUNDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/query/label_estimate.h"
#include "collector/query/merged_labels.h"
#include "collector/query/vital_choice.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::query {

class RowBounds {
 public:
  // An entry of an epoch (one of vital.samples()) that counts towards a row.
  struct Part {
    std::string row;
    uint64_t label = 0;  // exact id, the same in every epoch (LabelIds)
    EntryEstimate weight;
  };

  // Adds an epoch that has the vital, listed entries or not. `estimates`: of all its entries;
  // `parts`: those of the choice that are in a row. Weights in the stored unit.
  void AddEpoch(const v1::Vital& vital, const VitalChoice& choice,
                const std::vector<EntryEstimate>& estimates, const std::vector<Part>& parts);

  // By row, [low, high] over all epochs, and at most what the other rows leave of the total.
  struct Bounds {
    double low = 0, high = 0;
  };
  std::map<std::string, Bounds> Sum();
  // No label that is in no row weighs more.
  double unlisted() { return static_cast<double>(labels_.Sum().threshold); }
  bool merged_early() const { return labels_.merged_early(); }

 private:
  // Labels of one row: what a label weighs in one row says nothing about another.
  using RowLabel = std::pair<std::string, uint64_t>;
  std::map<RowLabel, uint64_t> ids_;  // dense
  MergedLabels labels_;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_ROW_BOUNDS_H_
