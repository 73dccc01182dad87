#include "collector/ingest_figures.h"

#include <cstddef>

namespace telltale::collector {

void AddIngestStatus(const ingest::IngestSnapshot& stats, v1::StatusAnswer& answer) {
  answer.set_ack_p50_s(stats.ack.Quantile(0.5));
  answer.set_ack_p99_s(stats.ack.Quantile(0.99));
  for (size_t i = 0; i < ingest::kCounts; ++i) {
    const auto count = static_cast<ingest::Count>(i);
    if (!ingest::IsRefusal(count) || stats.counts[i] == 0) continue;
    v1::ReasonCount& reason = *answer.add_refused();
    reason.set_reason(ingest::CountName(count));
    reason.set_events(static_cast<double>(stats.counts[i]));
  }
}

metrics::IngestFigures FiguresOf(const ingest::IngestSnapshot& stats) {
  metrics::IngestFigures figures;
  figures.clone_conflicts = stats.Of(ingest::Count::kCloneConflicts);
  figures.implausible = stats.Of(ingest::Count::kImplausible);
  figures.clone_decisions = stats.Of(ingest::Count::kCloneDecisions);
  figures.rollup_errors = stats.Of(ingest::Count::kRollupErrors);
  figures.windows_expired = stats.Of(ingest::Count::kWindowsExpired);
  figures.spread_s = stats.spread_s;
  figures.ack_seconds = {stats.ack.bounds_s, stats.ack.counts, stats.ack.sum_s};
  for (size_t i = 0; i < ingest::kCounts; ++i) {
    const auto count = static_cast<ingest::Count>(i);
    if (ingest::IsRefusal(count))
      figures.refused.emplace_back(ingest::CountName(count), stats.counts[i]);
  }
  return figures;
}

metrics::GrpcFigures FiguresOf(const GrpcStats& stats, const GrpcConnections& connections) {
  metrics::GrpcFigures figures{.connections = connections.open(), .waiting = stats.waiting};
  for (size_t i = 0; i < kGrpcRefusals; ++i) {
    figures.refused.emplace_back(GrpcRefusalName(static_cast<GrpcRefusal>(i)), stats.refused[i]);
  }
  return figures;
}

}  // namespace telltale::collector
