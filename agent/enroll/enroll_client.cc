#include "agent/enroll/enroll_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/enroll/node_key.h"
#include "agent/uplink/grpc_trouble.h"
#include "telltale/v1/enroll.grpc.pb.h"

namespace telltale::agent {
namespace {

constexpr int kMaxAnswerBytes = 1 << 20;

std::shared_ptr<grpc::Channel> ChannelTo(
    const EnrollServer& server, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (!server.name_check.empty()) arguments.SetSslTargetNameOverride(server.name_check);
  return grpc::CreateCustomChannel(server.address, credentials, arguments);
}

template <typename Service, typename Method, typename Question, typename Answer>
absl::Status Call(const EnrollServer& server,
                  const std::shared_ptr<grpc::ChannelCredentials>& credentials, Method method,
                  const Question& question, Answer* answer) {
  const auto stub = Service::NewStub(ChannelTo(server, credentials));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kEnrollCallS));
  const absl::Status status = FromGrpc((stub.get()->*method)(&context, question, answer));
  if (status.ok() || status.code() != absl::StatusCode::kUnavailable) return status;
  return absl::UnavailableError(absl::StrCat("enrol: ", server.address, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::string> FetchAuthority(const EnrollServer& server, const std::string& sha256) {
  v1::AuthoritiesAnswer answer;
  const absl::Status status =
      Call<v1::Enroll>(server, MakeUnverifiedCredentials(), &v1::Enroll::Stub::GetAuthorities,
                       v1::AuthoritiesRequest(), &answer);
  if (!status.ok()) return status;
  return PinnedAuthority(answer.authorities_pem(), sha256);
}

absl::StatusOr<v1::EnrollAnswer> AskToEnroll(const EnrollServer& server,
                                             const std::string& authority_pem,
                                             const v1::EnrollRequest& request) {
  v1::EnrollAnswer answer;
  const absl::Status status = Call<v1::Enroll>(server, MakeNamelessCredentials(authority_pem),
                                               &v1::Enroll::Stub::Enroll, request, &answer);
  if (!status.ok()) return status;
  return answer;
}

absl::StatusOr<v1::IssuedCertificate> AskToRenew(const EnrollServer& server, const TlsTexts& own,
                                                 const std::string& signing_request) {
  v1::RenewRequest request;
  request.set_signing_request(signing_request);
  v1::IssuedCertificate issued;
  const absl::Status status = Call<v1::Enrolment>(server, MakeChannelCredentials(own),
                                                  &v1::Enrolment::Stub::Renew, request, &issued);
  if (!status.ok()) return status;
  return issued;
}

}  // namespace telltale::agent
