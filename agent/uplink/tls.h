// Mutual TLS of the agent: the only file that knows gRPC's experimental TLS interface. The files
// are watched: a new certificate or authority holds for the next connection within seconds.

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

// Checks that the files are there, readable, fit each other and are valid at `unix_s`, and returns
// the node's name from the certificate's URI SAN "telltale://node/NAME". Errors name file and
// remedy.
absl::StatusOr<std::string> CheckTlsFiles(const TlsFiles& files, int64_t unix_s);

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const TlsFiles& files);

// Makes TLS 1.3 the least this process negotiates. gRPC 1.51 has no option for the version, only
// for the cipher list of TLS 1.2: one that no certificate can use leaves 1.3. Before the first use
// of gRPC.
void RequireTls13();

// Keeps gRPC's own lines out of the log, unless GRPC_VERBOSITY is set: what matters of them comes
// back as a status. Before the first use of gRPC.
void QuietGrpc();

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_TLS_H_
