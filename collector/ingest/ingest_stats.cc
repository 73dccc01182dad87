#include "collector/ingest/ingest_stats.h"

#include <algorithm>

#include "sketch/time_units.h"

namespace telltale::ingest {
namespace {

constexpr uint64_t kFirstBoundNs = 1'000'000;

}  // namespace

const char* CountName(Count count) {
  switch (count) {
    case Count::kStored:
      return "stored";
    case Count::kStoredApart:
      return "stored_apart";
    case Count::kRepeat:
      return "repeat";
    case Count::kTooLate:
      return "too_late";
    case Count::kRefusedOversize:
      return "refused_oversize";
    case Count::kRefusedMalformed:
      return "refused_malformed";
    case Count::kRefusedWrongNode:
      return "refused_wrong_node";
    case Count::kRefusedWrongIncarnation:
      return "refused_wrong_incarnation";
    case Count::kRefusedImpossible:
      return "refused_impossible";
    case Count::kRefusedConflict:
      return "refused_conflict";
    case Count::kRetryFuture:
      return "retry_future";
    case Count::kRetrySchema:
      return "retry_schema";
    case Count::kRetryContested:
      return "retry_contested";
    case Count::kRetryNodeBytes:
      return "retry_node_bytes";
    case Count::kRetryStorageFull:
      return "retry_storage_full";
    case Count::kRetryStorageError:
      return "retry_storage_error";
    case Count::kStreamBadHello:
      return "stream_bad_hello";
    case Count::kStreamNoHello:
      return "stream_no_hello";
    case Count::kStreamProtocol:
      return "stream_protocol";
    case Count::kStreamWrongNode:
      return "stream_wrong_node";
    case Count::kStreamNodeLimit:
      return "stream_node_limit";
    case Count::kStreamSuperseded:
      return "stream_superseded";
    case Count::kStreamDenied:
      return "stream_denied";
    case Count::kStreamDecidedAgainst:
      return "stream_decided_against";
    case Count::kStreamBadMessage:
      return "stream_bad_message";
    case Count::kStreamFlood:
      return "stream_flood";
    case Count::kStreamCut:
      return "stream_cut";
    case Count::kUploadRefused:
      return "upload_refused";
    case Count::kImplausible:
      return "implausible";
    case Count::kHlcRefused:
      return "hlc_refused";
    case Count::kNamesRefused:
      return "names_refused";
    case Count::kSchemaRefused:
      return "schema_refused";
    case Count::kLiveDropped:
      return "live_dropped";
    case Count::kLostDeclared:
      return "lost_declared";
    case Count::kCloneConflicts:
      return "clone_conflicts";
    case Count::kCloneDecisions:
      return "clone_decisions";
    case Count::kReinstalled:
      return "reinstalled";
    case Count::kRollupErrors:
      return "rollup_errors";
    case Count::kWindowsExpired:
      return "windows_expired";
    case Count::kEnd:
      break;
  }
  return "";
}

bool IsRefusal(Count count) {
  return count >= Count::kTooLate && count <= Count::kLiveDropped && count != Count::kImplausible;
}

double LatencySnapshot::Quantile(double q) const {
  const auto wanted = static_cast<uint64_t>(q * static_cast<double>(count));
  uint64_t seen = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    seen += counts[i];
    if (counts[i] > 0 && seen > 0 && seen >= wanted) {
      return bounds_s[std::min(i, bounds_s.size() - 1)];
    }
  }
  return 0;
}

void IngestStats::AddAck(uint64_t ns) {
  size_t bucket = 0;
  while (bucket < kBounds && ns > kFirstBoundNs << bucket) ++bucket;
  ack_[bucket].fetch_add(1, std::memory_order_relaxed);
  ack_sum_ns_.fetch_add(ns, std::memory_order_relaxed);
}

IngestSnapshot IngestStats::Snapshot() const {
  IngestSnapshot snapshot;
  for (size_t i = 0; i < kCounts; ++i) {
    snapshot.counts[i] = counts_[i].load(std::memory_order_relaxed);
  }
  for (size_t i = 0; i < kBounds; ++i) {
    snapshot.ack.bounds_s.push_back(static_cast<double>(kFirstBoundNs << i) / kNsPerS);
  }
  for (const auto& bucket : ack_) {
    snapshot.ack.counts.push_back(bucket.load(std::memory_order_relaxed));
    snapshot.ack.count += snapshot.ack.counts.back();
  }
  snapshot.ack.sum_s = static_cast<double>(ack_sum_ns_.load(std::memory_order_relaxed)) / kNsPerS;
  snapshot.streams_open =
      static_cast<uint64_t>(std::max<int64_t>(0, streams_.load(std::memory_order_relaxed)));
  snapshot.queued_bytes =
      static_cast<uint64_t>(std::max<int64_t>(0, queued_bytes_.load(std::memory_order_relaxed)));
  return snapshot;
}

}  // namespace telltale::ingest
