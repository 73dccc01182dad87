// What many windows (and raw epochs beside them) say together about some vitals: exact totals, and
// weights of labels and of groups as intervals, merged as sketch/label_merge.h says: a child that
// does not list a label raises its high by that child's threshold.
//
// Belongs to one answer and its thread.

#ifndef TELLTALE_COLLECTOR_QUERY_WINDOW_SUMS_H_
#define TELLTALE_COLLECTOR_QUERY_WINDOW_SUMS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/merged_labels.h"
#include "collector/query/tier_choice.h"
#include "storage/rollup/window_model.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::query {

struct GroupSum {
  MergedLabels weights;
  std::unordered_map<uint64_t, std::string> text;
  bool estimated = false;
  // The kernel's own accounts of the same thing (run time beside timer ticks): samples may add up
  // to more.
  bool other_measure = false;
};

struct LabelSum {
  storage::LabelFacts facts;
  uint32_t node = 0;  // where the facts come from
};

struct VitalSum {
  v1::VitalState state = v1::VITAL_STATE_UNSPECIFIED;   // the best seen
  v1::VitalDescriptor descriptor;                       // of the latest schema that has it
  std::optional<uint64_t> described_by;                 // which that is
  std::vector<double> events, weight;                   // by sub-series, stored unit
  std::map<uint32_t, std::vector<double>> node_weight;  // by node, then sub-series
  MergedLabels labels;
  std::unordered_map<uint64_t, LabelSum> facts;  // by id, of every label listed anywhere
  std::array<GroupSum, storage::kGroupings> groups, run_time;
};

// What is asked about labels.
struct LabelQuestion {
  std::vector<uint32_t> vitals;
  // Whether the kernel's own accounts are asked for whatever the vital; those of the processor's
  // always are.
  bool run_time = false;
  // By what groups are shown. Those by executable bound all labels and are there at all times.
  std::vector<storage::GroupIndex> groupings;
};

class WindowSums {
 public:
  explicit WindowSums(const LabelQuestion& asked);
  WindowSums(const WindowSums&) = delete;
  WindowSums& operator=(const WindowSums&) = delete;

  // What a model needs to have to be added.
  const storage::ModelParts& parts() const { return parts_; }
  // `schema` describes the model's vitals.
  void Add(uint32_t node, storage::WindowModel model, const v1::Schema& schema);
  // All that was added to another one of the same question, of other nodes; takes it.
  void Add(WindowSums& other);
  // nullptr: not one of those asked for, or nothing was added.
  VitalSum* Find(uint32_t vital);
  bool merged_early() const;  // labels of any vital

 private:
  bool WantsFacts(uint32_t vital, uint64_t label, std::optional<uint64_t> digest) const;
  bool WantsText(uint32_t vital, storage::GroupIndex by, uint64_t group) const;

  std::map<uint32_t, VitalSum> vitals_;
  const bool run_time_;
  storage::ModelParts parts_;
};

// Sums of a selection through windows; raw epochs beside them count as small windows. Says what it
// used and what was lost. Nodes are read beside each other. Errors as TierScan.
absl::StatusOr<std::unique_ptr<WindowSums>> SumWindows(const Selection& selection,
                                                       const Context& context, TierChoice tier,
                                                       const VitalBook& book,
                                                       const LabelQuestion& asked,
                                                       CoverageBuilder& coverage);

// What an answer notes if its rows are labels of windows.
std::string KeptLabelsNote();

// Whether an answer about labels of so many vitals may be computed from this tier: so many epochs
// or windows at most (of windows each vital is a row of its own), but the last minutes always from
// epochs. `single_process`: what is asked is only in raw epochs, and who asks it waits longer.
bool LabelsAffordable(v1::Tier tier, const Selection& selection, size_t vitals,
                      bool single_process);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_WINDOW_SUMS_H_
