// The figures of one scrape: sums over all nodes by group, and the nodes that are shown one by one.
// Its size depends on the number of groups and on the limit of shown nodes, not on the size of the
// fleet.
//
// A value; made and read by one thread.

#ifndef TELLTALE_COLLECTOR_METRICS_FLEET_SNAPSHOT_H_
#define TELLTALE_COLLECTOR_METRICS_FLEET_SNAPSHOT_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/metrics/exposition.h"
#include "collector/metrics/figures.h"
#include "collector/metrics/rate_tracker.h"

namespace telltale::metrics {

inline constexpr size_t kNodeStates = 6;  // numbers of v1.NodeState
inline constexpr size_t kMaxGroups =
    64;  // those beyond it are summed as "(other)", as are names above 128 bytes

// Vitals of this collector and those that only nodes know, by id.
class VitalDirectory {
 public:
  explicit VitalDirectory(const std::vector<VitalNames>& local);

  const VitalNames* Find(uint8_t vital) const;
  std::string SubName(uint8_t vital, uint8_t sub) const;
  bool Idle(uint8_t vital, uint8_t sub) const;
  const std::map<uint8_t, VitalNames>& all() const { return vitals_; }

 private:
  std::map<uint8_t, VitalNames> vitals_;
};

struct GroupFigures {
  std::array<uint64_t, kNodeStates> nodes{};
  uint64_t degraded = 0;
  uint64_t turned_down = 0;  // reporting nodes whose agent watches less to stay within its budget
  uint64_t over_budget = 0;  // and those where it takes more all the same
  std::map<std::pair<uint8_t, uint8_t>, Wide> weight;  // by vital and sub-series
  // One rate per reporting node, stored unit per second, idle sub-series left out; ascending.
  std::map<uint8_t, std::vector<double>> rates;
};

struct FleetSnapshot {
  std::map<std::string, GroupFigures> groups;
  std::vector<NodeFigures> shown;  // by name
  uint64_t nodes_not_shown = 0;
  Wide epochs = 0;
  Wide epochs_missing = 0;
  Wide epochs_too_late = 0;
  Wide epochs_apart = 0;
  Wide epochs_adopted = 0;
  std::map<uint32_t, Wide> losses;  // by v1.LossReason
};

// The q-quantile (0 < q <= 1) of ascending values: the smallest that q of them do not exceed. 0 if
// empty.
double Quantile(const std::vector<double>& ascending, double q);

// Takes every node once. Above `limit` the nodes with the most recent anomalies are shown, ties by
// name.
FleetSnapshot TakeSnapshot(const MetricSources& sources, const VitalDirectory& vitals, size_t limit,
                           RateTracker& rates);

}  // namespace telltale::metrics

#endif  // TELLTALE_COLLECTOR_METRICS_FLEET_SNAPSHOT_H_
