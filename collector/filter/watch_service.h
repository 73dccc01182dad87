// The gRPC edge of the filters: which there are, and one over the past again. Runs are expensive
// and take a thread each, so few go on at once.
//
// Owned by main; thread-safe. What the options point to outlives it.

#ifndef TELLTALE_COLLECTOR_FILTER_WATCH_SERVICE_H_
#define TELLTALE_COLLECTOR_FILTER_WATCH_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/access/gate.h"
#include "collector/filter/filter_side.h"
#include "collector/grpc_stats.h"
#include "collector/incident/incident_answer.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::filter {

struct WatchServiceOptions {
  const FilterSide* side = nullptr;
  // Nodes and times a selection means.
  std::function<absl::StatusOr<query::Selection>(const v1::Selection&)> resolve;
  const access::Gate* gate = nullptr;
  collector::GrpcStats* stats = nullptr;                        // counts what is turned away
  std::function<std::vector<v1::AlertTarget>()> alertmanagers;  // may be empty
  incident::PeerLook peers;                                     // may be empty
  std::function<uint64_t()> now_ns;
  int max_runs = 2;              // at once; more are refused
  uint64_t max_node_days = 100;  // of one run: nodes times days
};

std::unique_ptr<grpc::Service> MakeWatchService(WatchServiceOptions options);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_WATCH_SERVICE_H_
