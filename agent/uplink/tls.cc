#include "agent/uplink/tls.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <cstdlib>

namespace telltale::agent {
namespace {

constexpr unsigned kRefreshSeconds = 5;

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const TlsFiles& files) {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          files.key, files.cert, files.ca, kRefreshSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

void RequireTls13() { setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES256-GCM-SHA384", /*overwrite=*/1); }

void QuietGrpc() { setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0); }

}  // namespace telltale::agent
