// Who is at the other end of a gRPC call. Values; any thread.

#ifndef TELLTALE_COLLECTOR_PEER_H_
#define TELLTALE_COLLECTOR_PEER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/certificate_id.h"
#include "collector/identity.h"

namespace grpc {
class ServerContextBase;
}

namespace telltale::collector {

class RevocationList;

struct Peer : Identity {
  std::string address;  // as the transport calls it, e.g. ipv4:10.0.0.7:51234
  // To check them again when revocation lists change.
  CertificateIds certificate_ids;
  int64_t certificate_end_s = 0;  // Unix seconds; it is valid no longer
};

// Unauthenticated as IdentityOf, or because its certificate or one that it rests on is revoked.
absl::StatusOr<Peer> PeerOf(const grpc::ServerContextBase& context, const RevocationList& revoked);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_PEER_H_
