// The two gRPC faces of enrolment: for those without a certificate, on a listener of its own, and
// for nodes and operators with one, beside the other services. Both check who asks and how often
// before anything that costs, and write down what was done. Thin edges; gRPC's threads call them.

#ifndef TELLTALE_COLLECTOR_ENROLL_ENROLL_SERVICE_H_
#define TELLTALE_COLLECTOR_ENROLL_ENROLL_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "collector/access/audit_log.h"
#include "collector/access/gate.h"
#include "collector/enroll/enroll_desk.h"
#include "collector/enroll/enroll_stats.h"
#include "collector/enroll/issuer.h"

namespace grpc {
class Service;
}

namespace telltale::enroll {

// All outlive the services.
struct EnrollServiceOptions {
  EnrollDesk* desk = nullptr;
  const Issuer* issuer = nullptr;  // null: this collector signs nobody
  access::AuditLog* audit = nullptr;
  const access::Gate* gate = nullptr;
  EnrollStats* stats = nullptr;
  std::function<uint16_t()> port;  // of the listener without certificates
};

// telltale.v1.Enroll
std::unique_ptr<grpc::Service> MakeEnrollService(const EnrollServiceOptions& options);
// telltale.v1.Enrolment
std::unique_ptr<grpc::Service> MakeEnrolmentService(const EnrollServiceOptions& options);

}  // namespace telltale::enroll

#endif  // TELLTALE_COLLECTOR_ENROLL_ENROLL_SERVICE_H_
