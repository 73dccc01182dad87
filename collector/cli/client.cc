#include "collector/cli/client.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "collector/cli/files.h"
#include "collector/cli/probe.h"
#include "collector/pki/certificate.h"

namespace telltale::cli {
namespace {

constexpr int kMaxAnswer = 256 << 20;

absl::Status Wrong(const char* what, const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("tls: ", what, ": ", status.message(),
                                   absl::StrContains(status.message(), path) ? "" : " in " + path));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Open(const Settings& settings,
                                                     std::chrono::seconds timeout) {
  absl::StatusOr<std::string> ca = ReadFile(settings.ca, kMaxPem);
  if (!ca.ok()) return Wrong("authority (--ca)", settings.ca, ca.status());
  absl::StatusOr<std::string> cert = ReadFile(settings.cert, kMaxPem);
  if (!cert.ok()) return Wrong("your certificate (--cert)", settings.cert, cert.status());
  absl::StatusOr<std::string> key = ReadFile(settings.key, kMaxPem);
  if (!key.ok()) return Wrong("your key (--key)", settings.key, key.status());
  if (auto facts = pki::ReadCertificates(*ca); !facts.ok())
    return Wrong("authority (--ca)", settings.ca, facts.status());
  const auto facts = pki::ReadCertificates(*cert);
  if (!facts.ok()) return Wrong("your certificate (--cert)", settings.cert, facts.status());
  if (const absl::Time end = facts->front().not_after; end < absl::Now()) {
    return absl::UnauthenticatedError(
        absl::StrCat("tls: your certificate ", settings.cert, " ended on ",
                     absl::FormatTime("%Y-%m-%d %H:%M UTC", end, absl::UTCTimeZone()),
                     "; have it issued again, or give another with --cert and --key"));
  }
  absl::StatusOr<bool> fits = pki::KeyFits(*cert, *key);
  if (!fits.ok()) return Wrong("your key (--key)", settings.key, fits.status());
  if (!*fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls: key ", settings.key, " does not belong to certificate ", settings.cert,
                     "; give the pair that was issued together"));
  }
  std::unique_ptr<Client> client(new Client(settings, timeout));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = *ca;
  options.pem_private_key = *key;
  options.pem_cert_chain = *cert;
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswer);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a proxy of the environment is for web pages
  const auto channel =
      grpc::CreateCustomChannel(settings.collector, grpc::SslCredentials(options), arguments);
  client->stub_ = v1::Query::NewStub(channel);
  client->operate_ = v1::Operate::NewStub(channel);
  client->access_ = v1::Access::NewStub(channel);
  client->enrolment_ = v1::Enrolment::NewStub(channel);
  client->watch_ = v1::Watch::NewStub(channel);
  client->incidents_ = v1::Incidents::NewStub(channel);
  client->live_ = v1::LiveFeed::NewStub(channel);
  return client;
}

void Client::Prepare(grpc::ClientContext& context) const {
  context.set_deadline(std::chrono::system_clock::now() + timeout_);
}

absl::Status Client::Explain(const grpc::Status& status) const {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    const absl::Status probed = ProbeCollector(settings_, std::chrono::seconds(5));
    if (!probed.ok()) return probed;
    if (absl::StrContains(status.error_message(), "ALPN")) {
      return absl::FailedPreconditionError(absl::StrCat(
          "collector ", settings_.collector,
          ": this port speaks TLS but not gRPC; is it the web port? The collector's gRPC port is "
          "listen.grpc of its configuration, usually 7410"));
    }
    return absl::UnavailableError(
        absl::StrCat("collector ", settings_.collector, ": connected, but the call broke off (",
                     status.error_message(), "); try again, and look at the collector's log"));
  }
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    if (whole_screen_) {
      return absl::DeadlineExceededError(
          absl::StrCat("collector ", settings_.collector, ": no answer within ", timeout_.count(),
                       " s; narrow the time or the nodes, or look at the collector's log"));
    }
    const absl::Status probed = ProbeCollector(settings_, std::chrono::seconds(5));
    if (!probed.ok()) return probed;
    return absl::DeadlineExceededError(
        absl::StrCat("collector ", settings_.collector, ": no answer within ", timeout_.count(),
                     " s; narrow the time range or raise --timeout"));
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::UnimplementedError(
        absl::StrCat("collector ", settings_.collector,
                     ": does not know this question; it is older than this program"));
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

absl::StatusOr<v1::KeepAnswer> Client::Keep(const v1::KeepRequest& request) {
  grpc::ClientContext context;
  Prepare(context);
  v1::KeepAnswer answer;
  const grpc::Status status = operate_->KeepAgent(&context, request, &answer);
  if (!status.ok()) return Explain(status);
  return answer;
}

namespace {

// How the stream ended; nothing if `got` wanted no more.
template <typename Item>
std::optional<grpc::Status> ReadAll(grpc::ClientContext& context, grpc::ClientReader<Item>& stream,
                                    const std::function<bool(const Item&)>& got) {
  Item item;
  bool stopped = false;
  while (!stopped && stream.Read(&item)) stopped = !got(item);
  if (stopped) context.TryCancel();
  const grpc::Status status = stream.Finish();
  if (stopped || status.ok()) return std::nullopt;
  return status;
}

}  // namespace

absl::Status Client::Follow(const v1::FollowRequest& request,
                            const std::function<bool(const v1::Anomaly&)>& got) {
  grpc::ClientContext context;
  const auto stream = stub_->FollowAnomalies(&context, request);
  const auto failed = ReadAll(context, *stream, got);
  return failed.has_value() ? Explain(*failed) : absl::OkStatus();
}

absl::Status Client::Follow(const v1::FollowIncidentsRequest& request,
                            const std::function<bool(const v1::IncidentNews&)>& got) {
  grpc::ClientContext context;
  const auto stream = incidents_->FollowIncidents(&context, request);
  const auto failed = ReadAll(context, *stream, got);
  return failed.has_value() ? Explain(*failed) : absl::OkStatus();
}

absl::Status Client::Subscribe(grpc::ClientContext& context, const v1::SubscribeRequest& request,
                               const std::function<void(const v1::LiveNews&)>& got) const {
  const std::unique_ptr<grpc::ClientReader<v1::LiveNews>> stream =
      live_->Subscribe(&context, request);
  v1::LiveNews news;
  while (stream->Read(&news)) got(news);
  const grpc::Status status = stream->Finish();
  return status.ok() || status.error_code() == grpc::StatusCode::CANCELLED ? absl::OkStatus()
                                                                           : Explain(status);
}

absl::Status Client::Bundle(const std::function<bool(const v1::BundlePart&)>& got) {
  grpc::ClientContext context;
  Prepare(context);
  const std::unique_ptr<grpc::ClientReader<v1::BundlePart>> stream =
      stub_->GetBundle(&context, v1::BundleRequest());
  v1::BundlePart part;
  while (stream->Read(&part)) {
    if (!got(part)) {
      context.TryCancel();
      break;
    }
  }
  const grpc::Status status = stream->Finish();
  return status.ok() ? absl::OkStatus() : Explain(status);
}

}  // namespace telltale::cli
