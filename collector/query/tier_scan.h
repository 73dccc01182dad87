// Visits what a selection rests on, each moment of each node exactly once: windows of the coarsest
// tier that lie whole in the selection, finer ones around them, raw epochs for the rest; where raw
// epochs have expired, the finest windows that are left, even if they stick out. A stored window
// that is behind what was taken in (it waits to be computed again) is left to the finer tiers, so a
// late epoch counts at once.
//
// An epoch belongs where its middle lies, as in the store, so that sums through any tier are equal;
// a selection shorter than an epoch has the one that overlaps most of it.
//
// Belongs to one part of an answer and the thread that reads it.

#ifndef TELLTALE_COLLECTOR_QUERY_TIER_SCAN_H_
#define TELLTALE_COLLECTOR_QUERY_TIER_SCAN_H_

#include <cstdint>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/scan_count.h"
#include "collector/query/selection.h"
#include "collector/query/stretches.h"
#include "collector/query/tier_choice.h"

namespace telltale::query {

struct TierVisitor {
  std::function<void(const StoredEpoch& epoch)> epoch;
  // Empty: raw epochs only.
  std::function<void(const storage::RollupRow& row)> window;
  proto::BodyParts parts = {};  // of the epochs
};

// What a scan met beside what it visited.
struct ScanDefects {
  LeftOut damaged;          // stored epochs that could not be opened
  uint32_t unreadable = 0;  // windows
  uint32_t behind = 0;      // windows used although they wait to be recomputed
  // Of a tier that was asked for by name: windows that are over and not there yet.
  uint32_t awaited = 0;
  // Time of the nodes that was watched and of which no epoch or window is left.
  uint64_t gone_ns = 0;

  void Add(const ScanDefects& of_others);  // of other nodes
};

class TierScan {
 public:
  // `windows`: what of them to open. `count`: of the whole answer; nullptr: this scan is all of it.
  TierScan(const Selection& selection, const Context& context, TierChoice choice,
           storage::RollupParts windows, TierVisitor visitor, ScanCount* count = nullptr);

  // Cancelled, or ResourceExhausted beyond the limits.
  absl::Status All();
  // The same for some of the selected time of one node.
  absl::Status Node(const storage::NodeRecord& node, const Stretches& time);

  ScanDefects defects() const;

 private:
  struct Part;  // one node's
  absl::Status Windows(v1::Tier tier, bool touching, Part& part);
  uint32_t Awaited(const Part& part) const;
  absl::Status Epochs(Part& part);
  absl::Status CountGone(const Part& part);
  absl::Status Cancelled() const;

  const Selection& selection_;
  const Context& context_;
  const TierChoice choice_;
  const storage::RollupParts windows_;
  const TierVisitor visitor_;
  ScanCount own_count_;
  ScanCount& count_;
  LeftOut damaged_;
  uint32_t behind_ = 0, awaited_ = 0;
  uint64_t gone_ns_ = 0;
  // Found by more than one pass: tier, node, start.
  std::set<std::tuple<storage::Tier, uint32_t, uint64_t>> unreadable_;
};

// Says what could not be read, and where windows were used, or are missing, that wait to be
// computed.
void NoteDefects(const ScanDefects& defects, CoverageBuilder& coverage);

// Whether a stored window of a tier may be behind: a mark of it or of a finer one inside it.
bool Behind(const std::vector<storage::DirtyKey>& dirty, storage::Tier tier, uint64_t start_ns);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_TIER_SCAN_H_
