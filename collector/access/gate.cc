#include "collector/access/gate.h"

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace telltale::access {
using collector::Role;

std::string Who(const collector::Identity& identity) {
  return absl::StrCat(RoleName(identity.role), "/", identity.name);
}

absl::StatusOr<feed::Asker> Gate::Asks(const grpc::ServerContextBase& context) const {
  const auto peer = PeerOf(context, *revoked_);
  if (peer.ok() && peer->role != Role::kNode) {
    Admitted(*peer);
    return feed::Asker{Who(*peer), [this, certificates = peer->certificate_ids] {
                         absl::Status good = revoked_->Check(certificates);
                         if (!good.ok()) stats_->Refuse(collector::GrpcRefusal::kDenied);
                         return good;
                       }};
  }
  stats_->Refuse(collector::GrpcRefusal::kDenied);
  if (!peer.ok()) return peer.status();
  return absl::PermissionDeniedError(
      absl::StrCat("certificate: is for node ", peer->name,
                   ", only operators and viewers may ask; use such a certificate"));
}

absl::StatusOr<collector::Peer> Gate::Admit(const grpc::ServerContextBase& context, Role role,
                                            const std::string& action) const {
  auto peer = PeerOf(context, *revoked_);
  const std::string who = peer.ok() ? Who(*peer) : "";
  if (peer.ok() && peer->role != role) {
    peer = absl::PermissionDeniedError(absl::StrCat(
        "certificate: is for ", who, ", only ", role == Role::kOperator ? "an " : "a ",
        RoleName(role), " may do this; use a certificate telltale://", RoleName(role), "/NAME"));
  }
  if (!peer.ok()) {
    stats_->Refuse(collector::GrpcRefusal::kDenied);
    audit_->Refused(who, context.peer(), action, std::string(peer.status().message()));
    return peer;
  }
  Admitted(*peer);
  return peer;
}

void Gate::Admitted(const collector::Peer& peer) const {
  const auto connection = connections_->Of(peer.address);
  if (connection != nullptr) connection->Admitted();
}

absl::Status Gate::Done(const collector::Peer& peer, const std::string& action,
                        const std::string& detail) const {
  const std::string who = Who(peer);
  spdlog::info("audit: {} ({}): {} {}", who, peer.address, action, detail);
  return audit_->Done(who, peer.address, action, detail);
}

}  // namespace telltale::access
