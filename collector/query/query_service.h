// The gRPC face of the engine: checks who asks, runs the answer on a worker, maps errors. A thin
// edge.
//
// Made and registered by main; gRPC threads call it; outlives the server. The engine outlives it.

#ifndef TELLTALE_COLLECTOR_QUERY_QUERY_SERVICE_H_
#define TELLTALE_COLLECTOR_QUERY_QUERY_SERVICE_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "collector/feed/asker.h"
#include "collector/grpc_stats.h"
#include "collector/query/engine.h"
#include "collector/query/opened.h"

namespace grpc {
class Service;
class ServerContextBase;
}  // namespace grpc

namespace telltale::query {

struct QueryServiceOptions {
  const Engine* engine = nullptr;
  // Who asks, Unauthenticated or PermissionDenied with one line (operators and viewers may, nodes
  // may not).
  std::function<absl::StatusOr<feed::Asker>(const grpc::ServerContextBase&)> authorize;
  collector::GrpcStats* stats = nullptr;  // counts what is turned away; outlives the service
  TellOpened opened;  // may be empty
  size_t threads = 4;
  size_t max_queued = 64;  // questions waiting, half of them of one asker; more come back later
  size_t max_followers = 256;
};

class QueryService {
 public:
  explicit QueryService(QueryServiceOptions options);
  ~QueryService();  // after the server was shut down

  grpc::Service* service();
  // Ends all followers; call before the server's shutdown waits for streams.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_QUERY_SERVICE_H_
