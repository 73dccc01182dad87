// The gRPC face of what an operator may change: checks who orders, hands it to ingest. A thin edge.
// Registered with the server by the collector; gRPC's threads call it.

#ifndef TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_
#define TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_

#include <memory>

#include "collector/ingest/ingest_core.h"
#include "collector/revocation.h"

namespace grpc {
class Service;
}

namespace telltale::ingest {

// `core` and `revoked` outlive the service.
std::unique_ptr<grpc::Service> MakeOperateService(IngestCore* core,
                                                  const collector::RevocationList* revoked);

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_
