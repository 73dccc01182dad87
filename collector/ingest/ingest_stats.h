// What ingest counts about itself: verdicts, refusals by reason, drops, and how long an ack took.
// Written by shard and gRPC threads without locks; read by metrics and status at any time.

#ifndef TELLTALE_COLLECTOR_INGEST_INGEST_STATS_H_
#define TELLTALE_COLLECTOR_INGEST_INGEST_STATS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace telltale::ingest {

enum class Count : uint8_t {
  // Verdicts.
  kStored,
  kStoredApart,
  kRepeat,
  kTooLate,
  // Refused for good.
  kRefusedOversize,
  kRefusedMalformed,
  kRefusedWrongNode,
  kRefusedWrongIncarnation,
  kRefusedImpossible,
  kRefusedConflict,
  // Asked to send again later.
  kRetryFuture,
  kRetrySchema,
  kRetryContested,
  kRetryNodeBytes,
  kRetryStorageFull,
  kRetryStorageError,
  // Streams refused or closed by us.
  kStreamBadHello,
  kStreamNoHello,
  kStreamProtocol,
  kStreamWrongNode,
  kStreamNodeLimit,
  kStreamSuperseded,
  kStreamDenied,          // role or certificate
  kStreamDecidedAgainst,  // by an operator, in a clone conflict
  kStreamBadMessage,
  kStreamFlood,  // more messages in a second than any agent has to say
  kStreamCut,  // broke off: connection lost, or a message that gRPC would not read (size, encoding)
  kUploadRefused,
  // Other things dropped or noted.
  kImplausible,
  kHlcRefused,
  kNamesRefused,
  kSchemaRefused,
  kLiveDropped,
  kLostDeclared,  // sequence numbers
  kCloneConflicts,
  kCloneDecisions,
  kReinstalled,
  kRollupErrors,
  kWindowsExpired,  // windows of 5 minutes whose raw epochs expired before they were computed
  kEnd,
};
inline constexpr size_t kCounts = static_cast<size_t>(Count::kEnd);

// Lower-case name for labels: "refused_oversize".
const char* CountName(Count count);
// Whether it counts something refused, retried, closed or dropped.
bool IsRefusal(Count count);

// Seconds from the last byte read to the verdict handed to the stream.
struct LatencySnapshot {
  std::vector<double> bounds_s;  // ascending upper bounds; the last bucket is unbounded
  std::vector<uint64_t> counts;  // bounds_s.size() + 1, not cumulative
  double sum_s = 0;
  uint64_t count = 0;
  // Upper bound of the bucket that holds the quantile q in [0, 1]; 0 without data.
  double Quantile(double q) const;
};

struct IngestSnapshot {
  std::array<uint64_t, kCounts> counts = {};
  LatencySnapshot ack;
  uint64_t streams_open = 0;
  uint64_t queued_bytes = 0;
  uint32_t spread_s = 0;  // over which agents are to spread what they send
  uint64_t Of(Count count) const { return counts[static_cast<size_t>(count)]; }
};

class IngestStats {
 public:
  void Add(Count count, uint64_t n = 1) {
    counts_[static_cast<size_t>(count)].fetch_add(n, std::memory_order_relaxed);
  }
  void AddAck(uint64_t ns);
  void AddStreams(int64_t n) { streams_.fetch_add(n, std::memory_order_relaxed); }
  void AddQueuedBytes(int64_t n) { queued_bytes_.fetch_add(n, std::memory_order_relaxed); }
  IngestSnapshot Snapshot() const;

 private:
  // Upper bounds 1 ms x 2^i, up to 16.384 s.
  static constexpr size_t kBounds = 15;
  std::array<std::atomic<uint64_t>, kCounts> counts_ = {};
  std::array<std::atomic<uint64_t>, kBounds + 1> ack_ = {};
  std::atomic<uint64_t> ack_sum_ns_ = 0;
  std::atomic<int64_t> streams_ = 0;
  std::atomic<int64_t> queued_bytes_ = 0;
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_INGEST_STATS_H_
