// Who is at the other end of a connection: the role and name in its certificate's URI SAN
// `telltale://node|operator|viewer/<name>`. Values; any thread.

#ifndef TELLTALE_COLLECTOR_PEER_H_
#define TELLTALE_COLLECTOR_PEER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace grpc {
class ServerContextBase;
}

namespace telltale::collector {

class RevocationList;

enum class Role { kNode, kOperator, kViewer };
const char* RoleName(Role role);

struct Peer {
  Role role = Role::kViewer;
  std::string name;
  std::string address;         // as the transport calls it, e.g. ipv4:10.0.0.7:51234
  std::string certificate_id;  // to check it again when revocation lists change
};

// The one telltale:// URI among `uris`. Unauthenticated if there is none, more than one, or it is
// not telltale://ROLE/NAME with a known role and a valid name.
absl::StatusOr<Peer> PeerFromUris(const std::vector<std::string>& uris);

// The peer of a call. Unauthenticated as above, or because its certificate is revoked.
absl::StatusOr<Peer> PeerOf(const grpc::ServerContextBase& context, const RevocationList& revoked);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_PEER_H_
