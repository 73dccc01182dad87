// Takes summaries in. Ingest calls it from the shard thread that owns the node; calls for different
// nodes may run at the same time, calls for one node may not. When PutBatch returns, everything it
// reports as stored is durable: first the history rows (idempotent by key) and Sync, then one
// catalog commit {ledger, coverage, cumulative counters, dirty marks, node record}. A crash between
// the two is healed by the resend: same key, same bytes, and rows the ledger does not list count
// for nothing.

#ifndef TELLTALE_STORAGE_SUMMARY_STORE_H_
#define TELLTALE_STORAGE_SUMMARY_STORE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "storage/dictionary.h"
#include "storage/dirty_lines.h"
#include "storage/dirty_windows.h"
#include "storage/history.h"
#include "storage/ingest_stamps.h"
#include "storage/ledger.h"
#include "storage/node_registry.h"
#include "telltale/v1/ingest.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::storage {

// One summary on its way in; envelope and body were checked by the codec. Pointers outlive the
// call.
struct Incoming {
  uint32_t node = 0;  // NodeRegistry number; must be the one of summary->identity().node()
  const v1::Summary* summary = nullptr;
  const v1::SummaryBody* body = nullptr;
  // False: a clone's, or of an incarnation set apart. Stored apart, left out of ledger, counters
  // and sums.
  bool counted = true;
};

enum class Outcome : uint8_t {
  kStored,    // now durable
  kRepeat,    // was already: same identity, same digest
  kConflict,  // same identity, other digest: stored apart, durable, counts for nothing
  kTooLate,   // a window it belongs to is sealed or its day expired: not stored
};

struct SummaryStoreOptions {
  History* history = nullptr;  // outlives the store, as do the next three
  Catalog* catalog = nullptr;
  NodeRegistry* registry = nullptr;
  Dictionary* dictionary = nullptr;
  std::function<uint64_t()> now_ns;            // collector's wall clock
  uint64_t max_name_bytes_per_node = 8 << 20;  // symbol names one node may bring in a week
  // Asked before each batch; not OK (ResourceExhausted: too little space left) refuses it. May be
  // empty.
  std::function<absl::Status()> admit;
  uint64_t max_schemas = 4096;
  uint64_t max_schemas_per_node = 32;
};

// Cumulative since the node was first heard of; never decreasing.
struct Cumulative {
  uint64_t events = 0;
  uint64_t weight = 0;
};
struct NodeCounters {
  // By (vital, sub-series). Some hundred a node, copied with each epoch: in few pieces of memory.
  absl::btree_map<std::pair<uint8_t, uint8_t>, Cumulative> subs;
  std::map<uint32_t, uint64_t> losses;       // v1.LossReason -> events
  std::map<uint32_t, uint64_t> user_stacks;  // v1.StackEnd -> samples
  std::map<uint32_t, uint64_t> user_frames;  // v1.NameOutcome -> frames
  uint64_t agent_cpu_ns = 0;
  std::vector<uint64_t> part_cpu_ns;  // by v1.SensorPart
  std::vector<uint32_t> part_level;   // of the epoch received last
  // Of the host's CPU time in that epoch, in millionths: what the agent took as it reckons (0: it
  // does not say), and what it may take (0: no budget).
  uint32_t cost_ppm = 0;
  uint32_t budget_ppm = 0;
  // Above it the agent is over its budget: a governor holds a mean, so one epoch may lie a little
  // above. 0: no limit.
  uint32_t LimitPpm() const {
    return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{budget_ppm} * 6 / 5, 1'000'000));
  }
  uint64_t epochs = 0;  // summaries counted
  uint64_t partial_epochs = 0;
  uint64_t apart = 0;    // summaries stored apart
  uint64_t adopted = 0;  // of them, those counted since
  uint64_t too_late = 0;
  uint64_t forgotten_lost = 0;  // epochs that never came, of incarnations whose ledger was pruned
};

class SummaryStore {
 public:
  static absl::StatusOr<std::unique_ptr<SummaryStore>> Open(SummaryStoreOptions options);
  ~SummaryStore();

  // One outcome per item, in order. On an error nothing of the batch may be acknowledged and all of
  // it should be sent again later: ResourceExhausted (disk full) or Unavailable (another write
  // error); nothing is harmed.
  absl::StatusOr<std::vector<Outcome>> PutBatch(std::span<const Incoming> batch);

  // Durable. Sequence numbers already received stay received. InvalidArgument: empty or absurd
  // range.
  absl::Status DeclareLost(uint32_t node, const Incarnation& incarnation, const LostRange& lost);

  // A planned stop at this time; the node's state becomes STOPPED.
  absl::Status RecordStop(uint32_t node, const PlannedStop& stop);

  // As Dictionary::Tell. ResourceExhausted names the quota of the week; what fitted is kept. Not
  // durable until the next PutBatch.
  absl::Status PutNames(uint32_t node, const v1::Names& names);
  // AlreadyExists: another schema is known by this id, which stays; ResourceExhausted: a limit.
  absl::Status PutSchema(uint32_t node, const v1::Schema& schema);

  // For Welcome: every sequence up to this one of this incarnation is settled.
  uint64_t ReceivedThrough(uint32_t node, const Incarnation& incarnation) const;

  // Copies for readers; empty for unknown nodes. Any thread.
  NodeCounters Counters(uint32_t node) const;
  uint64_t CountedEpochs(uint32_t node) const;  // of its counters
  std::vector<std::pair<Incarnation, SequenceLedger>> Ledgers(uint32_t node) const;
  // Whether the ledger lists this summary as received: only such raw rows count. Any thread.
  bool Received(uint32_t node, const Incarnation& incarnation, uint64_t sequence) const;

  // Summaries stored since the data directory was made: the highest ingest number.
  uint64_t IngestNumber() const;

  // Windows that wait for their recomputation.
  DirtyWindows& dirty() const;
  // Blocks of fleet graphs that do.
  DirtyLines& lines() const;

  // Which hours changed when, by ingest number; a loss or stop that was recorded counts as a
  // change.
  const IngestStamps& stamps() const;

  // A decision about the node is in its record: what is said of any of its time is asked anew, and
  // the rows apart of incarnations that are `adopting` there are counted by AdoptDue from now on.
  absl::Status Decided(uint32_t node);

  // Counts what is stored apart and an operator decided for, a bounded number of rows for each of
  // at most `max_nodes` of these nodes; returns how many nodes were worked at, 0: nothing is due.
  // The rows apart stay until their day expires. The calling thread owns the nodes.
  absl::StatusOr<uint32_t> AdoptDue(std::span<const uint32_t> nodes, uint32_t max_nodes);

  // 16 bytes that name this store for ever; `make` is called once, when there are none yet.
  absl::StatusOr<std::string> StoreId(const std::function<std::string()>& make);

  // Nullptr: no node ever sent it. Any thread.
  std::shared_ptr<const v1::Schema> FindSchema(uint64_t id) const;

  // Days before this one have expired from `raw`: what belongs there is too late. Durable; moved by
  // retention, which drops the rows afterwards. Never goes back.
  absl::Status RaiseRawFloor(uint16_t first_day);
  uint16_t RawFloor() const;

  // Days before this one are older than what would be kept: what belongs there is too late, too.
  // Set by retention; not stored and may go back, as it follows from clock and options.
  void SetTooOldBefore(uint16_t first_day);

  // When the summary received last came, by the collector's clock at that time; 0: none ever came.
  uint64_t NewestReceivedNs() const;
  // The oldest day from the raw floor on, and before `before`, that has a window to be computed;
  // `before`: none has.
  uint16_t FirstDirtyDay(uint16_t before) const;

  // Days before this one are in no tier any more. Set by retention; not stored, as it follows from
  // clock and options.
  void SetCoverageFloor(uint16_t first_day);

  // Takes out of the books of these nodes what nothing refers to any more (node_pruning.h), once
  // for each raw floor. At most `max_nodes` of them; returns how many. The calling thread owns the
  // nodes.
  absl::StatusOr<uint32_t> Prune(std::span<const uint32_t> nodes, uint32_t max_nodes);

 private:
  struct Impl;
  explicit SummaryStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_SUMMARY_STORE_H_
