// The gRPC edge of what incidents need beside the list: who follows them, and silences.
//
// Made by main; thread-safe; outlives the server. What the options point to outlives it.

#ifndef TELLTALE_COLLECTOR_INCIDENT_INCIDENT_SERVICE_H_
#define TELLTALE_COLLECTOR_INCIDENT_INCIDENT_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>

#include "collector/access/gate.h"
#include "collector/grpc_stats.h"
#include "collector/incident/incident_book.h"
#include "collector/incident/silence_book.h"

namespace telltale::incident {

struct IncidentServiceOptions {
  IncidentBook* book = nullptr;
  SilenceBook* silences = nullptr;
  const access::Gate* gate = nullptr;
  collector::GrpcStats* stats = nullptr;  // counts what is refused; see feed::Followers
  std::function<uint64_t()> now_ns;
  size_t max_followers = 256;
  std::chrono::milliseconds stalled{60'000};  // see feed::Followers
};

class IncidentService {
 public:
  explicit IncidentService(IncidentServiceOptions options);
  ~IncidentService();  // after the server was shut down

  grpc::Service* service();
  // Ends all followers; call before the server's shutdown waits for streams.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace telltale::incident

#endif  // TELLTALE_COLLECTOR_INCIDENT_INCIDENT_SERVICE_H_
