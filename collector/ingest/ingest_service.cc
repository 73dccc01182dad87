#include "collector/ingest/ingest_service.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "collector/grpc_status.h"
#include "collector/ingest/connect_reactor.h"
#include "collector/peer.h"
#include "collector/revocation.h"
#include "spdlog/spdlog.h"
#include "telltale/v1/ingest.grpc.pb.h"

namespace telltale::ingest {
namespace {

// Ends a stream at once.
class RefusedStream final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::CollectorMessage> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

class RefusedUpload final : public grpc::ServerReadReactor<v1::Chunk> {
 public:
  explicit RefusedUpload(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

class IngestService final : public v1::Ingest::CallbackService {
 public:
  IngestService(IngestCore* core, const collector::RevocationList* revoked,
                const collector::GrpcConnections* connections, std::chrono::seconds connection_age)
      : core_(core),
        revoked_(revoked),
        connections_(connections),
        connection_age_(connection_age) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::CollectorMessage>* Connect(
      grpc::CallbackServerContext* context) override {
    const auto peer = NodeOf(context);
    if (!peer.ok()) return new RefusedStream(ToGrpc(peer.status()));
    auto* stream =
        new ConnectReactor(core_, *peer, connection_age_, connections_->Of(peer->address));
    // Who was revoked since the look above may have come too late to be closed with the others.
    const absl::Status counts = revoked_->CheckNode(peer->name, peer->certificate_ids);
    if (!counts.ok()) stream->Close(counts);
    return stream;
  }

  grpc::ServerReadReactor<v1::Chunk>* Upload(grpc::CallbackServerContext* context,
                                             v1::UploadResult*) override {
    const auto peer = NodeOf(context);
    if (!peer.ok()) return new RefusedUpload(ToGrpc(peer.status()));
    core_->stats().Add(Count::kUploadRefused);
    return new RefusedUpload(
        grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                     "upload: this collector takes no blobs yet; keep them on the node"));
  }

 private:
  absl::StatusOr<collector::Peer> NodeOf(grpc::CallbackServerContext* context) {
    auto peer = collector::PeerOf(*context, *revoked_);
    if (peer.ok() && peer->role != collector::Role::kNode) {
      peer = absl::PermissionDeniedError(absl::StrCat(
          "certificate: is for ", collector::RoleName(peer->role), " ", peer->name,
          ", only a node may send; use the certificate telltale://node/NAME of this machine"));
    }
    if (!peer.ok()) {
      core_->stats().Add(Count::kStreamDenied);
      spdlog::warn("ingest: {} refused: {}", context->peer(), std::string(peer.status().message()));
    }
    return peer;
  }

  IngestCore* const core_;
  const collector::RevocationList* const revoked_;
  const collector::GrpcConnections* const connections_;
  const std::chrono::seconds connection_age_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeIngestService(IngestCore* core,
                                                 const collector::RevocationList* revoked,
                                                 const collector::GrpcConnections* connections,
                                                 uint32_t connection_age_s) {
  return std::make_unique<IngestService>(core, revoked, connections,
                                         std::chrono::seconds(connection_age_s));
}

}  // namespace telltale::ingest
