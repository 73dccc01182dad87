// Who a certificate is for: the role and name of its URI SAN telltale://node|operator|viewer/NAME.
// The one reading of it, for gRPC and HTTPS. Values and free functions; any thread.

#ifndef TELLTALE_COLLECTOR_IDENTITY_H_
#define TELLTALE_COLLECTOR_IDENTITY_H_

#include <openssl/x509.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::collector {

enum class Role { kNode, kOperator, kViewer };
const char* RoleName(Role role);

struct Identity {
  Role role = Role::kViewer;
  std::string name;  // proto::ValidNodeName
};

// "telltale://viewer/grafana" -> {kViewer, "grafana"}; else Unauthenticated.
absl::StatusOr<Identity> ParseIdentity(const std::string& uri);

// The one telltale:// URI among `uris`; others are let be. Unauthenticated if there is none, more
// than one (its holder could pick the more powerful one), or one that does not parse.
absl::StatusOr<Identity> IdentityOf(const std::vector<std::string>& uris);

// The same of a certificate that has been verified against the authority.
absl::StatusOr<Identity> IdentityOf(X509* certificate);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_IDENTITY_H_
