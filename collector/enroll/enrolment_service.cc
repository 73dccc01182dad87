#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "collector/access/address_limits.h"
#include "collector/access/audit_log.h"
#include "collector/enroll/enroll_edge.h"
#include "collector/enroll/enroll_service.h"
#include "telltale/v1/enroll.grpc.pb.h"

namespace telltale::enroll {
namespace {

// A node renews once in days; a few at once while answers are lost.
constexpr access::AddressLimits::Options kOfOneNode = {.per_second = 0.1, .at_once = 10};

class EnrolmentService final : public v1::Enrolment::Service {
 public:
  explicit EnrolmentService(const EnrollServiceOptions& options) : options_(options) {}

  grpc::Status Renew(grpc::ServerContext* context, const v1::RenewRequest* request,
                     v1::IssuedCertificate* issued) override {
    const auto peer = options_.gate->Admit(*context, collector::Role::kNode, "renew");
    if (!peer.ok()) return ToGrpc(peer.status());
    if (!limits_.Take(peer->name, std::chrono::steady_clock::now())) {
      options_.stats->Count(Outcome::kRate);
      return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                          "enrol: this node renews too often; again in a minute");
    }
    const EnrollDesk::Asked asked = {.node = peer->name,
                                     .signing_request = request->signing_request(),
                                     .address = HostOf(peer->address)};
    const std::string serial = collector::SerialOf(peer->certificate_ids.front());
    return Deliver(options_, asked, "renew", options_.desk->Renew(asked, serial), issued);
  }

  grpc::Status CreateEnrollToken(grpc::ServerContext* context,
                                 const v1::CreateEnrollTokenRequest* request,
                                 v1::CreateEnrollTokenAnswer* answer) override {
    const auto peer = options_.gate->Operator(*context, "enroll token");
    if (!peer.ok()) return ToGrpc(peer.status());
    const auto created = options_.desk->CreateToken(*request, peer->name);
    if (!created.ok()) return ToGrpc(created.status());
    const absl::Status noted =
        options_.gate->Done(*peer, "enroll token",
                            absl::StrFormat("%s for %s, %d uses, until %s", created->token.id(),
                                            created->token.pattern(), created->token.uses(),
                                            access::AuditLog::Moment(created->token.expires_s())));
    const auto sha256 = options_.issuer->AuthoritySha256();
    if (!noted.ok() || !sha256.ok()) {
      // Nobody is given what is not written down.
      (void)options_.desk->RevokeToken(created->token.id(), peer->name);
      return ToGrpc(noted.ok() ? sha256.status() : noted);
    }
    *answer->mutable_token() = created->token;
    answer->set_secret(created->secret);
    answer->set_authority_sha256(*sha256);
    answer->set_port(options_.port());
    return grpc::Status::OK;
  }

  grpc::Status RevokeEnrollToken(grpc::ServerContext* context,
                                 const v1::RevokeEnrollTokenRequest* request,
                                 v1::RevokeEnrollTokenAnswer* answer) override {
    const auto peer = options_.gate->Operator(*context, "enroll revoke");
    if (!peer.ok()) return ToGrpc(peer.status());
    const auto revoked = options_.desk->RevokeToken(request->id(), peer->name);
    if (!revoked.ok()) return ToGrpc(revoked.status());
    *answer->mutable_token() = revoked->token;
    answer->set_changed(revoked->changed);
    if (!revoked->changed) return grpc::Status::OK;
    return ToGrpc(
        options_.gate->Done(*peer, "enroll revoke", absl::StrCat("token ", revoked->token.id())));
  }

  grpc::Status RevokeNode(grpc::ServerContext* context, const v1::RevokeNodeRequest* request,
                          v1::RevokeNodeAnswer* answer) override {
    const auto peer = options_.gate->Operator(*context, "enroll revoke");
    if (!peer.ok()) return ToGrpc(peer.status());
    const auto revoked = options_.desk->RevokeNode(request->node(), peer->name);
    if (!revoked.ok()) return ToGrpc(revoked.status());
    *answer->mutable_certificate() = revoked->certificate;
    answer->set_changed(revoked->changed);
    if (!revoked->changed) return grpc::Status::OK;
    const std::string& serial = revoked->certificate.serial();
    return ToGrpc(options_.gate->Done(
        *peer, "enroll revoke",
        absl::StrCat("node/", revoked->certificate.node(), ", all its certificates",
                     serial.empty() ? "" : absl::StrCat(", the latest with serial ", serial))));
  }

  grpc::Status ListEnrolments(grpc::ServerContext* context, const v1::ListEnrolmentsRequest*,
                              v1::ListEnrolmentsAnswer* answer) override {
    const auto peer = options_.gate->Operator(*context, "enroll list");
    if (!peer.ok()) return ToGrpc(peer.status());
    auto list = options_.desk->List();
    if (!list.ok()) return ToGrpc(list.status());
    *answer = *std::move(list);
    return grpc::Status::OK;
  }

  grpc::Status DecideEnrolment(grpc::ServerContext* context,
                               const v1::DecideEnrolmentRequest* request,
                               v1::DecideEnrolmentAnswer* answer) override {
    const char* action = request->approve() ? "enroll approve" : "enroll deny";
    const auto peer = options_.gate->Operator(*context, action);
    if (!peer.ok()) return ToGrpc(peer.status());
    const auto decided = options_.desk->Decide(request->id(), request->approve(),
                                               absl::StrCat("operator/", peer->name));
    if (!decided.ok()) return ToGrpc(decided.status());
    *answer->mutable_request() = decided->request;
    answer->set_changed(decided->changed);
    if (!decided->changed) return grpc::Status::OK;
    return ToGrpc(options_.gate->Done(
        *peer, action,
        absl::StrCat(decided->request.id(), " as node/", decided->request.node(), " from ",
                     decided->request.address(), ", key ", decided->request.key_sha256())));
  }

 private:
  const EnrollServiceOptions options_;
  access::AddressLimits limits_{kOfOneNode};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeEnrolmentService(const EnrollServiceOptions& options) {
  return std::make_unique<EnrolmentService>(options);
}

}  // namespace telltale::enroll
