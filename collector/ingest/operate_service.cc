#include "collector/ingest/operate_service.h"

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "collector/peer.h"
#include "spdlog/spdlog.h"
#include "telltale/v1/operate.grpc.pb.h"

namespace telltale::ingest {
namespace {

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

class OperateService final : public v1::Operate::CallbackService {
 public:
  OperateService(IngestCore* core, const collector::RevocationList* revoked)
      : core_(core), revoked_(revoked) {}

  grpc::ServerUnaryReactor* KeepAgent(grpc::CallbackServerContext* context,
                                      const v1::KeepRequest* request,
                                      v1::KeepAnswer* answer) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const auto peer = OperatorOf(context);
    if (!peer.ok()) {
      reactor->Finish(ToGrpc(peer.status()));
      return reactor;
    }
    core_->Keep({.node = request->node(), .agent = request->agent(), .by = peer->name},
                [reactor, answer](const absl::StatusOr<v1::KeepAnswer>& kept) {
                  if (kept.ok()) *answer = *kept;
                  reactor->Finish(kept.ok() ? grpc::Status::OK : ToGrpc(kept.status()));
                });
    return reactor;
  }

 private:
  absl::StatusOr<collector::Peer> OperatorOf(grpc::CallbackServerContext* context) {
    auto peer = collector::PeerOf(*context, *revoked_);
    if (peer.ok() && peer->role != collector::Role::kOperator) {
      peer = absl::PermissionDeniedError(absl::StrCat(
          "certificate: is for ", collector::RoleName(peer->role), " ", peer->name,
          ", only an operator may decide; use a certificate telltale://operator/NAME"));
    }
    if (!peer.ok()) {
      spdlog::warn("operate: {} refused: {}", context->peer(),
                   std::string(peer.status().message()));
    }
    return peer;
  }

  IngestCore* const core_;
  const collector::RevocationList* const revoked_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeOperateService(IngestCore* core,
                                                  const collector::RevocationList* revoked) {
  return std::make_unique<OperateService>(core, revoked);
}

}  // namespace telltale::ingest
