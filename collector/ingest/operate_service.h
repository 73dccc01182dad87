// The gRPC face of what an operator may change: checks who orders, hands it to ingest. A thin edge.
// Registered with the server by the collector; gRPC's threads call it.

#ifndef TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_
#define TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_

#include <memory>

#include "collector/access/audit_log.h"
#include "collector/grpc_stats.h"
#include "collector/ingest/ingest_core.h"
#include "collector/revocation.h"

namespace grpc {
class Service;
}

namespace telltale::ingest {

// All outlive the service; calls of those who may not make them are counted in `stats`, and what
// was decided is written down in `audit`.
std::unique_ptr<grpc::Service> MakeOperateService(IngestCore* core,
                                                  const collector::RevocationList* revoked,
                                                  collector::GrpcStats* stats,
                                                  access::AuditLog* audit);

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_
