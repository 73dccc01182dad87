#include "collector/enroll/enroll_service.h"

#include <chrono>
#include <utility>

#include "collector/access/address_limits.h"
#include "collector/enroll/enroll_edge.h"
#include "proto/codec.h"
#include "telltale/v1/enroll.grpc.pb.h"

namespace telltale::enroll {
namespace {

// A rack that is switched on enrols at once; who guesses tokens gets nowhere: they have 256 bits.
constexpr access::AddressLimits::Options kOfOneAddress = {.per_second = 5, .at_once = 300};
constexpr access::AddressLimits::Options kOfAll = {.per_second = 50, .at_once = 1000};
constexpr double kAskAgainS = 5;

class EnrollService final : public v1::Enroll::Service {
 public:
  explicit EnrollService(const EnrollServiceOptions& options) : options_(options) {}

  grpc::Status GetAuthorities(grpc::ServerContext*, const v1::AuthoritiesRequest*,
                              v1::AuthoritiesAnswer* answer) override {
    const auto authorities = options_.issuer->Authorities();
    if (!authorities.ok()) return ToGrpc(authorities.status());
    answer->set_authorities_pem(*authorities);
    return grpc::Status::OK;
  }

  grpc::Status Enroll(grpc::ServerContext* context, const v1::EnrollRequest* request,
                      v1::EnrollAnswer* answer) override {
    EnrollDesk::Asked asked;
    asked.address = HostOf(context->peer());
    const auto now = std::chrono::steady_clock::now();
    if (!address_limits_.Take(asked.address, now) || !limits_.Take("", now)) {
      options_.stats->Count(Outcome::kRate);
      return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                          "enrol: asked too often, of this address or of all together; again in "
                          "some seconds");
    }
    asked.node = request->node();
    asked.token = request->token();
    asked.signing_request = request->signing_request();
    const EnrollDesk::Answer decided = options_.desk->Enroll(asked);
    // For logs: it may be anything.
    if (!proto::ValidNodeName(asked.node)) asked.node = proto::SanitizeText(asked.node, 64);
    if (decided.outcome != Outcome::kWaiting) {
      return Deliver(options_, asked, "enroll", decided, answer->mutable_issued());
    }
    options_.stats->Count(Outcome::kWaiting);
    spdlog::info("enrol: request {} of {} as {} waits: telltale enroll approve|deny {}",
                 decided.request, asked.address, asked.node, decided.request);
    answer->set_request(decided.request);
    answer->set_retry_after_s(kAskAgainS);
    return grpc::Status::OK;
  }

 private:
  const EnrollServiceOptions options_;
  access::AddressLimits address_limits_{kOfOneAddress}, limits_{kOfAll};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeEnrollService(const EnrollServiceOptions& options) {
  return std::make_unique<EnrollService>(options);
}

}  // namespace telltale::enroll
