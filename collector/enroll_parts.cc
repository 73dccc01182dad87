#include "collector/enroll_parts.h"

#include <utility>

namespace telltale::collector {
namespace {

// Who has no certificate gets one quickly, or nothing.
constexpr uint32_t kConnectionS = 60;
constexpr int kMessageBytes = 16 << 10;
constexpr ConnectionPace kPace{
    .per_second = 50, .at_once = 500, .handshakes = 100, .waiting = 500, .crowding = 500};
constexpr int kThreads = 32;

}  // namespace

absl::StatusOr<std::unique_ptr<enroll::Issuer>> MakeIssuer(const Config& config, absl::Time now) {
  if (config.enroll_ca_cert.empty()) return nullptr;
  auto issuer = std::make_unique<enroll::Issuer>(
      enroll::Issuer::Options{.cert = config.enroll_ca_cert,
                              .key = config.enroll_ca_key,
                              .trusted = config.tls_ca,
                              .validity = absl::Seconds(config.enroll_validity_s)});
  if (absl::Status status = issuer->Check(now); !status.ok()) return status;
  return issuer;
}

absl::StatusOr<std::unique_ptr<GrpcServer>> StartEnrollServer(const config::Address& listen,
                                                              const TlsFiles& tls, GrpcStats* stats,
                                                              GrpcConnections* connections,
                                                              grpc::Service* service) {
  return GrpcServer::Start({.listen = listen,
                            .tls = tls,
                            .option = "listen.enroll",
                            .ask_certificates = false,
                            .max_threads = kThreads,
                            .connection_age_s = kConnectionS,
                            .pace = kPace,
                            .max_message_bytes = kMessageBytes,
                            .stats = stats,
                            .counts_handshakes = false,
                            .connections = connections},
                           {service});
}

}  // namespace telltale::collector
