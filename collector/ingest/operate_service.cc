#include "collector/ingest/operate_service.h"

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "collector/peer.h"
#include "spdlog/spdlog.h"
#include "telltale/v1/operate.grpc.pb.h"

namespace telltale::ingest {
namespace {

constexpr const char* kAction = "decide for an agent";

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

class OperateService final : public v1::Operate::CallbackService {
 public:
  OperateService(IngestCore* core, const collector::RevocationList* revoked,
                 collector::GrpcStats* stats, access::AuditLog* audit)
      : core_(core), revoked_(revoked), stats_(stats), audit_(audit) {}

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
                [this, reactor, answer, peer = *peer,
                 node = request->node()](const absl::StatusOr<v1::KeepAnswer>& kept) {
                  if (kept.ok()) *answer = *kept;
                  const absl::Status noted = kept.ok() ? Note(peer, node, *kept) : kept.status();
                  reactor->Finish(noted.ok() ? grpc::Status::OK : ToGrpc(noted));
                });
    return reactor;
  }

 private:
  absl::Status Note(const collector::Peer& peer, const std::string& node,
                    const v1::KeepAnswer& kept) {
    if (!kept.changed()) return absl::OkStatus();
    return audit_->Done(absl::StrCat("operator/", peer.name), peer.address, kAction,
                        absl::StrCat("node ", node, ": kept ", kept.kept()));
  }

  absl::StatusOr<collector::Peer> OperatorOf(grpc::CallbackServerContext* context) {
    auto peer = collector::PeerOf(*context, *revoked_);
    if (peer.ok() && peer->role != collector::Role::kOperator) {
      peer = absl::PermissionDeniedError(absl::StrCat(
          "certificate: is for ", collector::RoleName(peer->role), " ", peer->name,
          ", only an operator may decide; use a certificate telltale://operator/NAME"));
    }
    if (!peer.ok()) {
      stats_->Refuse(collector::GrpcRefusal::kDenied);
      audit_->Refused("", context->peer(), kAction, std::string(peer.status().message()));
      spdlog::warn("operate: {} refused: {}", context->peer(),
                   std::string(peer.status().message()));
    }
    return peer;
  }

  IngestCore* const core_;
  const collector::RevocationList* const revoked_;
  collector::GrpcStats* const stats_;
  access::AuditLog* const audit_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeOperateService(IngestCore* core,
                                                  const collector::RevocationList* revoked,
                                                  collector::GrpcStats* stats,
                                                  access::AuditLog* audit) {
  return std::make_unique<OperateService>(core, revoked, stats, audit);
}

}  // namespace telltale::ingest
