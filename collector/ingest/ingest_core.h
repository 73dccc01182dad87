// Ingest without a transport: opens sessions for streams, hands their messages to the shard of
// their node, runs one thread per shard. Made and stopped by the collector; the other methods may
// be called from any thread.

#ifndef TELLTALE_COLLECTOR_INGEST_INGEST_CORE_H_
#define TELLTALE_COLLECTOR_INGEST_INGEST_CORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/ingest/clock.h"
#include "collector/ingest/clone_decision.h"
#include "collector/ingest/command_desk.h"
#include "collector/ingest/hybrid_clock.h"
#include "collector/ingest/inbox.h"
#include "collector/ingest/ingest_options.h"
#include "collector/ingest/ingest_stats.h"
#include "collector/ingest/ingest_store.h"
#include "collector/ingest/live_hub.h"
#include "collector/ingest/session.h"
#include "collector/ingest/shard.h"
#include "collector/ingest/shared_settings.h"

namespace telltale::ingest {

class IngestCore {
 public:
  // `store` and `clock` outlive this.
  IngestCore(const IngestOptions& options, const IngestSettings& settings, IngestStore* store,
             const Clock* clock);
  ~IngestCore();
  IngestCore(const IngestCore&) = delete;
  IngestCore& operator=(const IngestCore&) = delete;

  // Starts the shards' threads. A test leaves it out and calls RunPending.
  void Start();
  // Handles what already arrived, closes all streams, ends the threads. Idempotent.
  void Stop();
  // Handles everything that waits and one tick of every shard, on the calling thread.
  void RunPending();

  // A node's stream began. `sink` stays valid until Closed returns. Beyond
  // max_open_streams_per_node it is closed at once.
  std::shared_ptr<Session> Open(StreamPeer peer, StreamSink* sink);
  // A message came. False: do not read on before ResumeReading.
  bool Deliver(const std::shared_ptr<Session>& session, v1::AgentMessage message);
  // The agent will send no more; once what it sent is answered the stream is closed.
  void ReadsDone(const std::shared_ptr<Session>& session);
  // The stream is done; its sink is not called any more.
  void Closed(const std::shared_ptr<Session>& session);

  // New settings; sent to all open streams, as they are when the fleet outgrows its spread of
  // sending.
  void SetSettings(const IngestSettings& settings);

  // Ends the streams for which `revoked` is true.
  void CloseStreams(const std::function<bool(const Session&)>& revoked, const absl::Status& status);

  // When the first certificate of those that are connected ends, in Unix seconds; 0: none is.
  int64_t FirstCertificateEnd() const;

  // Sends a command to the newest stream of a node; `done` is called once, on another thread: with
  // the agent's result, DeadlineExceeded, or Unavailable when it is not connected. Bounded;
  // ResourceExhausted.
  void SendCommand(const std::string& node, v1::CommandKind kind, std::string payload,
                   uint64_t timeout_ns, CommandDesk::Done done);

  // Has an operator's order carried out by the shard of its node, on its thread; `done` is called
  // once, there, or at once with Unavailable while stopping. See Shard::Keep.
  using Kept = std::function<void(const absl::StatusOr<v1::KeepAnswer>&)>;
  void Keep(KeepOrder order, Kept done);

  IngestSnapshot Stats() const;
  IngestStats& stats() { return stats_; }
  LiveHub& live() { return live_; }

 private:
  struct Lane;  // a shard, its inbox and its thread
  Lane& LaneOf(const std::string& node_name);
  void Run(Lane& lane);
  bool Step(Lane& lane);
  void ObeyOrders(Lane& lane);
  void Tick(Lane& lane);
  size_t Reporting() const;
  // Tells all open streams what holds now.
  void SendSettings();
  void PushEvent(const std::shared_ptr<Session>& session, InboxItem::Kind kind);
  std::vector<std::shared_ptr<Session>> OpenSessions() const;

  const IngestOptions options_;
  SharedSettings settings_;
  IngestStore* const store_;
  const Clock* const clock_;
  IngestStats stats_;
  LiveHub live_;
  HybridClock hybrid_clock_;
  CommandDesk commands_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> next_id_ = 1;
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Session>> sessions_;  // guarded by mutex_; open ones by id
  std::map<std::string, size_t> streams_of_;               // guarded by mutex_; how many, by node
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_INGEST_CORE_H_
