// One agent's gRPC stream. gRPC owns the life: made when the call comes, gone after OnDone. One
// read and one write are under way at most; what is to be written waits in a queue, and while that
// is long nothing is read, so a peer that does not read cannot make us remember answers for it.
// Private to the ingest service.

#ifndef TELLTALE_COLLECTOR_INGEST_CONNECT_REACTOR_H_
#define TELLTALE_COLLECTOR_INGEST_CONNECT_REACTOR_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "collector/grpc_connections.h"
#include "collector/ingest/ingest_core.h"
#include "collector/ingest/stream_sink.h"
#include "collector/peer.h"
#include "telltale/v1/ingest.pb.h"

namespace telltale::ingest {

class ConnectReactor final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::CollectorMessage>,
                             public StreamSink {
 public:
  static constexpr size_t kMaxQueuedWrites = 256;

  // `connection_age`: after about this long gRPC ends the connection by itself; `connection`: the
  // one the stream is of, null if it is not bounded.
  ConnectReactor(IngestCore* core, const collector::Peer& peer, std::chrono::seconds connection_age,
                 std::shared_ptr<collector::GrpcConnection> connection);

  void Send(v1::CollectorMessage message) override;
  void Close(const absl::Status& status) override;
  void ResumeReading() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // gRPC 1.51 runs reactions of these on threads of its own, never inside the call, so they may be
  // started with the mutex held, and must be: it keeps Finish the last.
  void ReadLocked();
  void WriteLocked();
  void FinishLocked();
  // Neither side ended it: the connection is gone, or gRPC would not read what came.
  void CutLocked();

  // What was brought belonged to messages, or to the one that may be under way.
  void Took(size_t message_bytes);

  IngestCore* const core_;
  const std::shared_ptr<collector::GrpcConnection> connection_;
  bool has_room_ = false;  // on the connection, for a long message; one read at a time writes it
  // gRPC spreads the age by a tenth.
  const std::chrono::steady_clock::time_point renewed_after_;
  v1::AgentMessage incoming_;  // belongs to gRPC while a read is under way
  std::shared_ptr<Session> session_;

  std::mutex mutex_;
  std::deque<v1::CollectorMessage>
      writes_;                           // guarded by mutex_; the first is under way if writing_
  bool writing_ = false;                 // guarded by mutex_
  bool finished_ = false;                // guarded by mutex_
  bool inbox_full_ = false;              // guarded by mutex_; reading waits for ResumeReading
  bool resumed_early_ = false;           // guarded by mutex_; ResumeReading came before we waited
  bool writes_full_ = false;             // guarded by mutex_; reading waits for writes
  std::optional<grpc::Status> closing_;  // guarded by mutex_; finish when all is written
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_CONNECT_REACTOR_H_
