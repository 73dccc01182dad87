// What ingest and the gRPC listener count, as /metrics and GetStatus show it. Pure.

#ifndef TELLTALE_COLLECTOR_INGEST_FIGURES_H_
#define TELLTALE_COLLECTOR_INGEST_FIGURES_H_

#include "collector/grpc_connections.h"
#include "collector/grpc_stats.h"
#include "collector/ingest/ingest_stats.h"
#include "collector/metrics/figures.h"
#include "telltale/v1/query.pb.h"

namespace telltale::collector {

void AddIngestStatus(const ingest::IngestSnapshot& stats, v1::StatusAnswer& answer);
metrics::IngestFigures FiguresOf(const ingest::IngestSnapshot& stats);
metrics::GrpcFigures FiguresOf(const GrpcStats& stats, const GrpcConnections& connections);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_INGEST_FIGURES_H_
