// The gRPC edge of ingest: one reactor per stream turns callbacks into sessions and messages, and
// messages back into writes. Checks only who is calling; everything else is IngestCore's.
// Registered with the server by the collector; gRPC's threads call it.

#ifndef TELLTALE_COLLECTOR_INGEST_INGEST_SERVICE_H_
#define TELLTALE_COLLECTOR_INGEST_INGEST_SERVICE_H_

#include <cstdint>
#include <memory>

#include "collector/grpc_connections.h"
#include "collector/ingest/ingest_core.h"
#include "collector/revocation.h"

namespace grpc {
class Service;
}

namespace telltale::ingest {

// What it is made with outlives the service. A stream that breaks off before its connection was due
// for renewal is counted as cut.
std::unique_ptr<grpc::Service> MakeIngestService(IngestCore* core,
                                                 const collector::RevocationList* revoked,
                                                 const collector::GrpcConnections* connections,
                                                 uint32_t connection_age_s);

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_INGEST_SERVICE_H_
