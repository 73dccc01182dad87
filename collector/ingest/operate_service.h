// The gRPC face of what an operator may change: checks who orders, hands it to ingest or
// to the book of notes. A thin edge.
// Registered with the server by the collector; gRPC's threads call it.

#ifndef TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_
#define TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_

#include <memory>

#include "collector/access/audit_log.h"
#include "collector/grpc_stats.h"
#include "collector/ingest/ingest_core.h"
#include "collector/marks/mark_book.h"
#include "collector/revocation.h"

namespace grpc {
class Service;
}

namespace telltale::ingest {

// All outlive the service; what was ordered is written down in `audit`.
struct OperateServiceOptions {
  IngestCore* core = nullptr;
  marks::MarkBook* marks = nullptr;
  const collector::RevocationList* revoked = nullptr;
  collector::GrpcStats* stats = nullptr;  // calls of those who may not make them
  access::AuditLog* audit = nullptr;
};

std::unique_ptr<grpc::Service> MakeOperateService(const OperateServiceOptions& options);

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_
