// One agent's open stream: its peer, the way back to it, and its place in the shard's inbox. Shared
// by the transport (until the stream is done) and the shard (until the last message is handled).
// The methods may be called from any thread; `lane` and `stream` have the owners named beside them.

#ifndef TELLTALE_COLLECTOR_INGEST_SESSION_H_
#define TELLTALE_COLLECTOR_INGEST_SESSION_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "collector/certificate_id.h"
#include "collector/ingest/stream_sink.h"
#include "storage/keys.h"
#include "telltale/v1/ingest.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::ingest {

class Session;

// One thing that happened on a stream.
struct InboxItem {
  enum class Kind { kOpened, kMessage, kReadsDone, kClosed };
  std::shared_ptr<Session> session;
  Kind kind = Kind::kMessage;
  v1::AgentMessage message;
  size_t bytes = 0;  // of memory that the message holds
  uint64_t received_mono_ns = 0;
  bool hlc_refused = false;  // the message carried a stamp too far ahead
};

// Messages of one stream that wait. Guarded by the mutex of the inbox.
struct InboxLane {
  std::deque<InboxItem> items;
  size_t bytes = 0;  // of these and of those being handled
  size_t messages = 0;
  bool listed = false;  // stands in the round
  bool paused = false;  // its transport does not read
};

// What the shard knows of a stream. Shard thread only.
struct StreamState {
  bool open = false;
  bool greeted = false;  // a valid Hello came
  uint64_t opened_mono_ns = 0;
  uint32_t node = 0;  // registry number
  storage::Incarnation incarnation = {};
  bool counted = true;  // false: set apart
  v1::NodeInfo info;    // the last one received
  bool clock_remarked = false;
  std::map<uint64_t, std::shared_ptr<const v1::Schema>> schemas;  // sent on this stream
};

// Who a stream belongs to, from its transport.
struct StreamPeer {
  std::string node_name = {};  // of the certificate
  std::string address = {};
  collector::CertificateIds certificate_ids = {};
  int64_t certificate_end_s = 0;  // Unix seconds; 0: unknown
};

class Session {
 public:
  Session(uint64_t id, StreamPeer peer, StreamSink* sink);

  uint64_t id() const { return id_; }
  const std::string& node_name() const { return peer_.node_name; }
  const StreamPeer& peer() const { return peer_; }

  // Queues a message. Welcome opens the way for those that were not asked for (settings, commands).
  void Send(v1::CollectorMessage message);
  bool welcomed() const;
  // Something arrived on it, which may still wait to be handled. Any thread.
  void Heard() { heard_ = true; }
  bool heard() const { return heard_; }
  void Close(const absl::Status& status);
  void ResumeReading();
  // After this the sink is never called again; waits for a call in progress.
  void Detach();

  InboxLane lane;      // guarded by the inbox's mutex
  StreamState stream;  // shard thread only

 private:
  const uint64_t id_;
  const StreamPeer peer_;
  std::atomic<bool> heard_ = false;
  mutable std::mutex mutex_;
  StreamSink* sink_;       // guarded by mutex_; null once detached
  bool welcomed_ = false;  // guarded by mutex_; and not detached
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_SESSION_H_
