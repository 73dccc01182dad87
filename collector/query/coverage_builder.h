// What an answer rests on: time watched and not, epochs received and lost, events lost by reason,
// where data is when nothing was found. One per answer: Begin() with the selection, AddLosses() for
// each epoch or window that went into it, then Finish(). One thread at
// a time: of an answer whose parts several read, each part has its own, and they are added.

#ifndef TELLTALE_COLLECTOR_QUERY_COVERAGE_BUILDER_H_
#define TELLTALE_COLLECTOR_QUERY_COVERAGE_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/query/knob_steps.h"
#include "collector/query/selection.h"
#include "collector/query/vital_choice.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

class CoverageBuilder {
 public:
  CoverageBuilder(const Selection& selection, const Context& context);

  // Losses and bounds of one epoch; `vitals`: ids the answer is about, empty: all.
  void AddEpoch(const StoredEpoch& epoch, const VitalBook& book,
                const std::vector<uint32_t>& vitals);
  void AddEpochLosses(const StoredEpoch& epoch, const VitalBook& book,
                      const std::vector<uint32_t>& vitals);
  // Losses of a window, and that it was used.
  void AddWindow(const storage::RollupRow& row, const VitalBook& book,
                 const std::vector<uint32_t>& vitals);
  // Losses alone, for answers whose values come from elsewhere.
  void AddWindowLosses(const storage::RollupRow& row, const VitalBook& book,
                       const std::vector<uint32_t>& vitals);
  // The answer rests on so many epochs or windows of a tier, the longest of this length.
  void Used(v1::Tier tier, uint32_t rows, double length_s);
  // `vital` outlives this.
  void AddLosses(const google::protobuf::RepeatedPtrField<v1::Loss>& losses,
                 const v1::VitalDescriptor* vital);
  // Epochs that cannot be read: their time was not watched, as far as the answer goes.
  void AddDamaged(const LeftOut& epochs) {
    damaged_.epochs += epochs.epochs;
    damaged_.watched_ns += epochs.watched_ns;
  }
  // Time that was watched and of which nothing is stored any more that this answer may rest on.
  void AddGone(uint64_t watched_ns) { gone_ns_ += watched_ns; }
  // Stored windows that cannot be read: the answer has finer data in their place, or nothing.
  void AddUnreadable(uint32_t windows) { unreadable_ += windows; }
  // A window that was used and of which some could not be read when it was made.
  void AddLacking(uint32_t windows) { lacking_ += windows; }
  void Note(std::string note);
  // All that was said to another one, of other nodes of the selection.
  void Add(const CoverageBuilder& part);
  // For answers that only raw epochs can give: says if those of the selection's beginning expired.
  void NoteRawFloor();
  // Time the values really stand for, when whole epochs or windows stick out of the selection.
  void Covers(uint64_t start_ns, uint64_t end_ns);

  // `tier`: what the answer was computed from where that was not said by Used; `found`: whether it
  // has any content.
  absl::StatusOr<v1::Coverage> Finish(v1::Tier tier, bool found);
  // Every stretch without data of the nodes selected, ascending by node and time; at most `limit`.
  std::vector<v1::Gap> Gaps(size_t limit, bool* more);

 private:
  struct Lost {
    double events = 0, weight = 0;
  };
  struct Unwatched {
    double seconds = 0;
    uint32_t nodes = 0;
  };
  void AddControl(const v1::SketchDigest& sketch, const v1::VitalDescriptor* vital);
  void AddLostEvents(v1::Coverage* coverage) const;
  // What was watched and is not in the answer.
  void TakeOut(uint64_t watched_ns, const char* reason, v1::Coverage* coverage);
  absl::Status LookAtNode(const storage::NodeRecord& node, v1::Coverage* coverage);
  void AddGap(const storage::NodeRecord& node, const storage::Gap& gap);
  void AddNodeGap(const storage::NodeRecord& node, uint64_t start_ns, uint64_t end_ns,
                  const std::string& reason, const storage::Gap& gap);
  absl::Status AddRanges(bool found, v1::Tier tier, v1::Coverage* coverage);

  const Selection& selection_;
  const Context& context_;
  uint64_t end_ns_;  // of the selection, not after now
  // Of a vital of the answer's book; nullptr: of sensor and agent.
  std::map<std::pair<v1::LossReason, const v1::VitalDescriptor*>, Lost> losses_;
  std::map<v1::NameOutcome, double> user_frames_;
  std::map<std::string, v1::ControlGroup> control_;  // by vital
  KnobSteps steps_;
  std::map<std::string, Unwatched> unwatched_;  // by reason
  std::map<int, v1::TierUse> used_;             // by tier
  std::map<uint32_t, uint32_t> cpus_;           // by node number
  std::map<uint32_t, std::string> names_;       // of nodes, the same
  std::vector<v1::Gap> gaps_;
  std::vector<std::string> notes_;
  LeftOut damaged_;
  uint64_t gone_ns_ = 0;
  uint32_t unreadable_ = 0, lacking_ = 0;
  uint32_t unspooled_ = 0;  // epochs
  uint64_t covers_start_ns_ = 0, covers_end_ns_ = 0;
  uint64_t values_watched_ns_ = 0;
  double miss_sum_ = 0;  // largest of each epoch, summed
  uint32_t miss_epochs_ = 0;
  uint32_t miss_by_formula_ = 0;  // of these
  uint32_t miss_in_part_ = 0;     // of these: the vital was watched in part
};

// "recursion", "tokens" ...: names of LossReason in answers and metrics.
std::string LossReasonName(v1::LossReason reason);

// "named", "no_symbol" ...: names of NameOutcome in answers.
std::string NameOutcomeName(v1::NameOutcome outcome);

// Whether the agent measured the chance of a miss in this epoch; older ones did not.
bool MissMeasured(const v1::Vital& vital);

// Chance that a label which holds this share of the vital's weight in one epoch left no sample: as
// measured (sketch/miss_curve.h), else by formula, the mean over the cells it may fall into, for
// spread arrival (sketch/log_sample.h), with the samples that were taken, so refused ones count. 0
// if the epoch has no sketch digest, or if the label weighs less than the quantum.
double MissProbability(const v1::Vital& vital, double share, uint32_t cpus);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_COVERAGE_BUILDER_H_
