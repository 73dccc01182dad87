#include "collector/access/access_service.h"

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "collector/access/audit_log.h"
#include "collector/grpc_status.h"
#include "telltale/v1/access.grpc.pb.h"

namespace telltale::access {
namespace {

std::string Called(const v1::Token& token) {
  return absl::StrCat(token.id(), " (", token.name(), ", ", token.role(), ")");
}

class AccessService final : public v1::Access::Service {
 public:
  explicit AccessService(const AccessServiceOptions& options) : options_(options) {}

  grpc::Status CreateToken(grpc::ServerContext* context, const v1::CreateTokenRequest* request,
                           v1::CreateTokenAnswer* answer) override {
    const auto peer = options_.gate->Operator(*context, "token create");
    if (!peer.ok()) return ToGrpc(peer.status());
    const auto created = options_.tokens->Create(*request, peer->name);
    if (!created.ok()) return ToGrpc(created.status());
    const absl::Status noted =
        options_.gate->Done(*peer, "token create",
                            absl::StrCat(Called(created->token), ", until ",
                                         AuditLog::Moment(created->token.expires_s())));
    if (!noted.ok()) {
      // Nobody is given what is not written down.
      (void)options_.tokens->Revoke(created->token.id(), peer->name);
      return ToGrpc(noted);
    }
    *answer->mutable_token() = created->token;
    answer->set_secret(created->secret);
    return grpc::Status::OK;
  }

  grpc::Status ListTokens(grpc::ServerContext* context, const v1::ListTokensRequest*,
                          v1::ListTokensAnswer* answer) override {
    const auto peer = options_.gate->Operator(*context, "token list");
    if (!peer.ok()) return ToGrpc(peer.status());
    for (v1::Token& token : options_.tokens->List()) *answer->add_tokens() = std::move(token);
    return grpc::Status::OK;
  }

  grpc::Status RevokeToken(grpc::ServerContext* context, const v1::RevokeTokenRequest* request,
                           v1::RevokeTokenAnswer* answer) override {
    const auto peer = options_.gate->Operator(*context, "token revoke");
    if (!peer.ok()) return ToGrpc(peer.status());
    const auto revoked = options_.tokens->Revoke(request->id(), peer->name);
    if (!revoked.ok()) return ToGrpc(revoked.status());
    *answer->mutable_token() = revoked->token;
    answer->set_changed(revoked->changed);
    if (!revoked->changed) return grpc::Status::OK;
    const absl::Status noted = options_.gate->Done(*peer, "token revoke", Called(revoked->token));
    return noted.ok() ? grpc::Status::OK : ToGrpc(noted);
  }

  grpc::Status ListAudit(grpc::ServerContext* context, const v1::ListAuditRequest* request,
                         v1::ListAuditAnswer* answer) override {
    const auto peer = options_.gate->Operator(*context, "audit");
    if (!peer.ok()) return ToGrpc(peer.status());
    auto listed = options_.audit->List(*request);
    if (!listed.ok()) return ToGrpc(listed.status());
    *answer = *std::move(listed);
    return grpc::Status::OK;
  }

 private:
  const AccessServiceOptions options_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAccessService(const AccessServiceOptions& options) {
  return std::make_unique<AccessService>(options);
}

}  // namespace telltale::access
