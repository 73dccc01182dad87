// The logic of ingest for the nodes that hash to one shard: greets streams, judges summaries,
// writes them together, answers with verdicts only after the write is durable, and watches who fell
// silent. Has no thread of its own: one thread (ingest_core.cc, or a test) calls Process and Tick,
// never two at a time.

#ifndef TELLTALE_COLLECTOR_INGEST_SHARD_H_
#define TELLTALE_COLLECTOR_INGEST_SHARD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/ingest/clock.h"
#include "collector/ingest/clone_decision.h"
#include "collector/ingest/hybrid_clock.h"
#include "collector/ingest/ingest_options.h"
#include "collector/ingest/ingest_stats.h"
#include "collector/ingest/ingest_store.h"
#include "collector/ingest/live_hub.h"
#include "collector/ingest/node_table.h"
#include "collector/ingest/session.h"
#include "collector/ingest/shared_settings.h"
#include "proto/open_body.h"

namespace telltale::ingest {

// What all shards share; everything outlives them.
struct ShardContext {
  IngestOptions options;
  const SharedSettings* settings = nullptr;
  IngestStore* store = nullptr;
  const Clock* clock = nullptr;
  IngestStats* stats = nullptr;
  LiveHub* live = nullptr;
  HybridClock* hybrid_clock = nullptr;
  // Called with each Result an agent sends.
  std::function<void(const std::string& node, const v1::Result&)> on_result;
};

class Shard {
 public:
  explicit Shard(const ShardContext& context);

  // Takes over a node known from before the start.
  void Load(const storage::NodeRecord& record);

  // Handles what Inbox::Pop gave, in order; all verdicts are out when this returns.
  void Process(std::span<InboxItem> items);

  // About once a second: silent nodes, contests, streams that never said Hello.
  void Tick();

  // How many of its nodes report, those not heard of since a restart among them.
  size_t Reporting() const { return nodes_.Reporting(); }

  // An operator's decision about one node of this shard: recorded durably, then its streams follow
  // it. As Decide (clone_decision.h), NotFound also for an unknown node; Unavailable: it could not
  // be recorded, nothing is changed.
  absl::StatusOr<v1::KeepAnswer> Keep(const KeepOrder& order);

  // Brings at most so many windows of some nodes up to date, the next time those of the next;
  // whether more may be due.
  bool RollUp(uint32_t max_windows);

 private:
  struct Staged {
    std::shared_ptr<Session> session;
    const v1::Summary* summary;
    proto::OpenBody body;
    uint64_t received_mono_ns;
    uint64_t bytes;  // of its node's budget
  };

  void HandleMessage(InboxItem& item);
  void HandleHello(const InboxItem& item);
  void HandleSummary(InboxItem& item);
  void HandleLost(const InboxItem& item);
  void HandleGoodbye(const InboxItem& item);
  void HandleNames(const InboxItem& item);
  void HandleSchema(const InboxItem& item);
  void HandleNodeInfo(const InboxItem& item);
  void HandleClosed(Session& session);

  void Flush();
  // Before anything else that is about this node. What only others sent goes on waiting: when a
  // fleet loses its streams, one ends between any two epochs, and each write waits for the disk.
  void FlushOf(uint32_t node);
  void Answer(const Staged& staged, storage::Outcome outcome);
  void SendVerdict(Session& session, const v1::Verdict& verdict, uint64_t received_mono_ns);
  void Refuse(Session& session, Count count, const absl::Status& status);

  void Welcome(Session& session);
  // Whether a decision lets this stream speak; notes where a refused one speaks from.
  absl::Status MayGreet(const NodeEntry& entry, const Session& session, const v1::Hello& hello);
  // Records the incarnation as this node's, after any contest over it is over.
  void Adopt(NodeEntry& entry, Session& session);
  void SetApart(NodeEntry& entry, const std::vector<storage::Incarnation>& incarnations,
                v1::RemarkKind kind, const std::string& why);
  void Remark(uint32_t node, v1::RemarkKind kind, const std::string& text);
  void RemarkOrder(const Session& session, uint64_t sequence, const v1::Epoch& epoch);
  void SetState(NodeEntry& entry, v1::NodeState state, uint64_t since_unix_ns);
  void Heard(NodeEntry& entry);
  std::shared_ptr<const v1::Schema> SchemaFor(Session& session, uint64_t id);

  const ShardContext context_;
  NodeTable nodes_;
  std::map<uint64_t, std::shared_ptr<Session>> streams_;  // all open ones, greeted or not
  size_t rollup_at_ = 0;                                  // of nodes_.numbers(): whose turn it is
  std::vector<Staged> staged_;  // checked, not yet written; only within Process
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_SHARD_H_
