// Where those who watch the fleet as a whole put what they find: with the filters' stored outputs
// and into the log of anomalies, so that it is listed, followed and grouped like theirs.
//
// Belongs to the runner's thread.

#ifndef TELLTALE_COLLECTOR_FILTER_FLEET_FLEET_OUTPUTS_H_
#define TELLTALE_COLLECTOR_FILTER_FLEET_FLEET_OUTPUTS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "collector/filter/anomaly_log.h"
#include "storage/derived.h"
#include "telltale/v1/filter.pb.h"

namespace telltale::filter {

class FleetOutputs {
 public:
  // Both outlive it.
  FleetOutputs(storage::DerivedStore* store, AnomalyLog* log) : store_(store), log_(log) {}

  // A new anomaly of a node, or more about one with the same vital, sub-series and start. Stored
  // and logged on return; durable and shown with the log's next Publish.
  absl::Status Put(const std::string& filter, uint32_t version, uint32_t node,
                   const std::string& node_name, v1::FilterAnomaly anomaly, uint64_t now_ns);

  // Notes in the running hour that an anomaly that began in an earlier one goes on, so that lists
  // of this time find it. Once an hour is enough.
  absl::Status Carry(const std::string& filter, uint32_t version, uint32_t node, uint64_t start_ns,
                     uint64_t now_ns);

 private:
  storage::DerivedStore* const store_;
  AnomalyLog* const log_;
  uint64_t row_version_ = 0;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_FLEET_FLEET_OUTPUTS_H_
