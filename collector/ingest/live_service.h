// The gRPC face of what happens now: a stream of news to each who looks. A thin edge.
// Registered with the server by the collector; gRPC's threads call it.

#ifndef TELLTALE_COLLECTOR_INGEST_LIVE_SERVICE_H_
#define TELLTALE_COLLECTOR_INGEST_LIVE_SERVICE_H_

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "collector/feed/asker.h"
#include "collector/grpc_stats.h"
#include "collector/ingest/live_hub.h"

namespace grpc {
class Service;
class ServerContextBase;
}  // namespace grpc

namespace telltale::ingest {

// All outlive the service. `authorize`: who looks, if he may. `stats` counts those who are one too
// many.
std::unique_ptr<grpc::Service> MakeLiveService(
    LiveHub* hub, collector::GrpcStats* stats,
    std::function<absl::StatusOr<feed::Asker>(const grpc::ServerContextBase&)> authorize);

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_LIVE_SERVICE_H_
