// What the collector makes of its configuration for enrolment. Called by collector.cc alone.

#ifndef TELLTALE_COLLECTOR_ENROLL_PARTS_H_
#define TELLTALE_COLLECTOR_ENROLL_PARTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/config.h"
#include "collector/enroll/issuer.h"
#include "collector/grpc_server.h"
#include "collector/tls.h"
#include "config/values.h"

namespace grpc {
class Service;
}

namespace telltale::collector {

// Null if the configuration names no authority to sign with; an error if that cannot sign `now`.
absl::StatusOr<std::unique_ptr<enroll::Issuer>> MakeIssuer(const Config& config, absl::Time now);

// The listener for those who have no certificate yet. What it refuses counts with the main port's;
// all it is given outlives it.
absl::StatusOr<std::unique_ptr<GrpcServer>> StartEnrollServer(const config::Address& listen,
                                                              const TlsFiles& tls, GrpcStats* stats,
                                                              GrpcConnections* connections,
                                                              grpc::Service* service);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_ENROLL_PARTS_H_
