// The gRPC face of what an operator may change: checks who orders, hands it to ingest or
// to the book of notes. A thin edge.
// Registered with the server by the collector; gRPC's threads call it.

#ifndef TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_
#define TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_

#include <memory>

#include "collector/access/gate.h"
#include "collector/ingest/ingest_core.h"
#include "collector/marks/mark_book.h"

namespace grpc {
class Service;
}

namespace telltale::ingest {

// All outlive the service.
struct OperateServiceOptions {
  IngestCore* core = nullptr;
  marks::MarkBook* marks = nullptr;
  const access::Gate* gate = nullptr;
};

std::unique_ptr<grpc::Service> MakeOperateService(const OperateServiceOptions& options);

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_OPERATE_SERVICE_H_
