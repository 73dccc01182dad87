// Who is on the other end of an HTTPS connection: the role and name that its certificate states as
// the URI subject alternative name `telltale://operator|viewer|node/<name>`.
//
// Plain values and free functions: any thread.

#ifndef TELLTALE_COLLECTOR_WEB_PEER_H_
#define TELLTALE_COLLECTOR_WEB_PEER_H_

#include <openssl/x509.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace telltale::web {

enum class Role { kOperator, kViewer, kNode };

struct Peer {
  Role role = Role::kViewer;
  std::string name;  // 1..128 bytes of [a-zA-Z0-9._-], no leading '-' or '.'
};

// "telltale://viewer/grafana" -> {kViewer, "grafana"}. InvalidArgument names what is wrong.
absl::StatusOr<Peer> ParseIdentity(std::string_view uri);

// The one telltale:// URI of a certificate that has already been verified against the CA.
// Unauthenticated if it has none, more than one, or one that does not parse.
absl::StatusOr<Peer> PeerOfCertificate(X509* certificate);

std::string_view RoleName(Role role);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_PEER_H_
