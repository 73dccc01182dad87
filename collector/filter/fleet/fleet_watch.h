// Those who watch the fleet as a whole: silent nodes and outliers among peers. They need the
// collector's clock and all nodes at once, so they are no filters of telltale_filter.h, and cannot
// be run over the past; what they find is stored, listed and grouped like what filters find.
//
// Look and IsOpen belong to the runner's thread; the rest to any.

#ifndef TELLTALE_COLLECTOR_FILTER_FLEET_FLEET_WATCH_H_
#define TELLTALE_COLLECTOR_FILTER_FLEET_FLEET_WATCH_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "collector/filter/anomaly_list.h"
#include "collector/filter/fleet/fleet_outputs.h"
#include "collector/filter/fleet/peer_outliers.h"
#include "collector/filter/fleet/silent_nodes.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::filter {

class FleetWatch {
 public:
  // All outlive it. `now_ns`: the collector's start.
  FleetWatch(const EpochSource* source, storage::DerivedStore* store, AnomalyLog* log,
             uint64_t now_ns);

  // Each epoch that is shown to filters (PeerOutliers::Note).
  void Note(uint32_t node, const SourceEpoch& epoch) { peers_.Note(node, epoch); }
  // With each of the filters' looks.
  absl::Status Look(uint64_t now_ns);
  // Whether such an anomaly of one of the nodes (none named: of any) goes on.
  bool IsOpen(const std::string& filter, const NodeNames& nodes, const std::string& vital,
              const std::string& sub) const;

  static std::vector<FilterIdentity> Identities();
  std::vector<v1::FilterInfo> Infos() const;
  // What they must have seen before they speak, where they have not; as of the last look.
  std::vector<v1::FilterLearning> Learning() const;

 private:
  const EpochSource* const source_;
  AnomalyLog* const log_;
  FleetOutputs outputs_;
  SilentNodes silent_;
  PeerOutliers peers_;
  mutable std::mutex mutex_;
  std::vector<v1::FilterLearning> learning_;  // guarded by mutex_
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_FLEET_FLEET_WATCH_H_
