// Mutual TLS of the gRPC server. The only file that knows gRPC's experimental TLS interface. The
// files are watched: a new certificate, key or authority holds for new connections within seconds,
// and the server's maximal connection age bounds how long an old connection lives on.

#ifndef TELLTALE_COLLECTOR_TLS_H_
#define TELLTALE_COLLECTOR_TLS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace grpc {
class ServerCredentials;
}

namespace telltale::collector {

struct TlsFiles {
  std::string ca;    // PEM, authorities of clients
  std::string cert;  // PEM, own leaf first
  std::string key;   // PEM
};

// Whether a server could start with these files: readable, PEM, key fits certificate, certificate
// valid at `unix_s`. The status names file, value and remedy.
absl::Status CheckTlsFiles(const TlsFiles& files, int64_t unix_s);

// Server credentials that demand a client certificate signed by `ca`. Call CheckTlsFiles first:
// gRPC reports bad files only at handshakes.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const TlsFiles& files);

// The same for clients that have no certificate yet: none is asked for.
std::shared_ptr<grpc::ServerCredentials> MakeOpenServerCredentials(const TlsFiles& files);

// Has the TLS connections of this process give their buffers back (some 33 KiB each) while nothing
// is on its way: those of a fleet rest nearly all the time. Once, before the first of them.
void ReleaseIdleTlsBuffers();

// Makes TLS 1.3 the least that gRPC negotiates in this process. gRPC 1.51 has no option for it; it
// does let the TLS 1.2 cipher list be set, and a list without a usable cipher leaves 1.3. Before
// the first use of gRPC.
void RequireTls13();

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_TLS_H_
