// Mutual TLS of the agent: the only file that knows gRPC's experimental TLS interface. The files
// are read and checked for every connection, all three together: a new certificate, key or
// authority holds from the next connection on.

#ifndef TELLTALE_AGENT_UPLINK_TLS_H_
#define TELLTALE_AGENT_UPLINK_TLS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class ChannelCredentials;
}

namespace telltale::agent {

struct TlsFiles {
  std::string ca;    // PEM, authorities of the collector
  std::string cert;  // PEM, the node's own leaf first
  std::string key;   // PEM
};

// A renewal puts the next certificate into `cert` and this, then changes the key, then renames it
// (agent/enroll/identity_files.h).
inline constexpr const char* kNextCertificate = ".next";

// What the files held.
struct TlsTexts {
  std::string node;  // from the certificate's URI SAN "telltale://node/NAME"
  std::string ca, cert, key;
};

// Reads the files and checks that they fit each other and are valid at `unix_s`. Errors name file
// and remedy; FailedPrecondition: it is only the time that does not fit.
absl::StatusOr<TlsTexts> ReadTlsFiles(const TlsFiles& files, int64_t unix_s);

// The node's name in the certificate, valid or not.
absl::StatusOr<std::string> ReadNodeName(const TlsFiles& files);

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const TlsTexts& texts);

// For a node that has no certificate yet: believes the authorities in `ca_pem`, shows none itself.
std::shared_ptr<grpc::ChannelCredentials> MakeNamelessCredentials(const std::string& ca_pem);

// Believes whoever answers: only to ask for what can be checked without knowing who said it.
std::shared_ptr<grpc::ChannelCredentials> MakeUnverifiedCredentials();

// Makes TLS 1.3 the least this process negotiates. gRPC 1.51 has no option for the version, only
// for the cipher list of TLS 1.2: one that no certificate can use leaves 1.3. Before the first use
// of gRPC.
void RequireTls13();

// Keeps gRPC's own lines out of the log, unless GRPC_VERBOSITY is set: what matters of them comes
// back as a status. Before the first use of gRPC.
void QuietGrpc();

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_TLS_H_
