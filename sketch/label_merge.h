// Merging what several epochs or windows say about labels (the rollup). Each child lists some
// labels with an interval that holds the label's weight there, and a threshold that no label it
// does not list exceeds. Plain values, free functions, integers only: any thread, and the same
// bytes on every machine.
//
// The merge is over all children at once and does not depend on their order. Merging in two steps
// (5 min, then 1 h of them) gives intervals that hold the truth too, but wider ones, since the
// first step has put labels away; so one window must always be computed from the same children.

#ifndef TELLTALE_SKETCH_LABEL_MERGE_H_
#define TELLTALE_SKETCH_LABEL_MERGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace telltale::sketch {

// Labels a window keeps by name.
inline constexpr size_t kKeptLabels = 24;

struct LabelWeight {
  uint64_t id = 0;
  uint64_t low = 0, high = 0;  // the label's weight lies in [low, high]
  uint64_t samples = 0;        // times it was sampled
  uint64_t estimate = 0;       // likely weight where it is listed, see DivideTotal
  friend bool operator==(const LabelWeight&, const LabelWeight&) = default;
};

struct LabelList {
  std::vector<LabelWeight> labels;  // each id at most once
  uint64_t total = 0;               // exact weight of all labels, listed or not
  uint64_t threshold = 0;           // no label that is not listed weighs more
  uint64_t other_samples = 0;       // of labels that are not listed
  friend bool operator==(const LabelList&, const LabelList&) = default;
};

// The sum of the children:
//   low  = sum of low where listed
//   high = sum of high where listed + sum of threshold where not, and at most
//          total - sum of the other labels' low, since weights add up to the total
//   estimate = sum of estimate where listed: unlike high it does not grow with children that say
//          nothing about the label, so it means the same however many steps a merge took
// The `keep` labels of greatest low stay, ties to the smaller id; the threshold becomes the
// greatest high among what was put away and what no child listed. Labels come out by descending
// low, then by id. Sums saturate.
LabelList MergeLabels(std::span<const LabelList> children, size_t keep = kKeptLabels);

// The same sum of children that come one after the other: what it holds grows with the labels, not
// with the children. Belongs to one thread.
class LabelSums {
 public:
  void Add(const LabelList& child);
  // All children of another one.
  void Add(const LabelSums& other);
  size_t labels() const { return sums_.size(); }
  // What MergeLabels gives of all children added.
  LabelList Merged(size_t keep = kKeptLabels) const;

  // What the children say of one label.
  struct Sum {
    uint64_t low = 0, high = 0, samples = 0, estimate = 0;
    uint64_t thresholds = 0;  // of the children that list it
  };
  struct Totals {
    uint64_t total = 0, other_samples = 0, thresholds = 0;
  };

 private:
  std::unordered_map<uint64_t, Sum> sums_;  // by id
  Totals all_;
};

// Fills in the estimates of one epoch's list: low + f (high - low) with one f in [0, 1] for all,
// the largest with which the estimates do not add up to more than the total; rounded down.
void DivideTotal(LabelList& list);

// What of the total the listed labels leave: between total - sum of high (or 0) and total - sum of
// low.
struct Rest {
  uint64_t low = 0, high = 0;
};
Rest OtherOf(const LabelList& list);

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_LABEL_MERGE_H_
