// The gRPC face of tokens and of the audit log: checks that an operator asks, writes down what was
// done. A thin edge. Registered with the server by the collector; gRPC's threads call it.

#ifndef TELLTALE_COLLECTOR_ACCESS_ACCESS_SERVICE_H_
#define TELLTALE_COLLECTOR_ACCESS_ACCESS_SERVICE_H_

#include <memory>

#include "collector/access/audit_log.h"
#include "collector/access/gate.h"
#include "collector/access/token_book.h"

namespace grpc {
class Service;
}

namespace telltale::access {

// All outlive the service.
struct AccessServiceOptions {
  TokenBook* tokens = nullptr;
  AuditLog* audit = nullptr;
  const Gate* gate = nullptr;
};

std::unique_ptr<grpc::Service> MakeAccessService(const AccessServiceOptions& options);

}  // namespace telltale::access

#endif  // TELLTALE_COLLECTOR_ACCESS_ACCESS_SERVICE_H_
