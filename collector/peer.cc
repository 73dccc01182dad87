#include "collector/peer.h"

#include <grpcpp/grpcpp.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "collector/revocation.h"
#include "proto/codec.h"

namespace telltale::collector {
namespace {

constexpr const char* kScheme = "telltale://";
constexpr size_t kShownBytes = 80;

}  // namespace

const char* RoleName(Role role) {
  switch (role) {
    case Role::kNode:
      return "node";
    case Role::kOperator:
      return "operator";
    case Role::kViewer:
      return "viewer";
  }
  return "";
}

absl::StatusOr<Peer> PeerFromUris(const std::vector<std::string>& uris) {
  const std::string* found = nullptr;
  for (const std::string& uri : uris) {
    if (!absl::StartsWith(uri, kScheme)) continue;
    if (found != nullptr) {
      return absl::UnauthenticatedError(
          "certificate: names two telltale:// identities, must be one; issue another");
    }
    found = &uri;
  }
  if (found == nullptr) {
    return absl::UnauthenticatedError(
        "certificate: has no URI telltale://node|operator|viewer/NAME; issue one with telltale pki "
        "issue");
  }
  const std::string rest = found->substr(std::string(kScheme).size());
  const size_t slash = rest.find('/');
  const std::string role = rest.substr(0, slash);
  Peer peer;
  peer.name = slash == std::string::npos ? "" : rest.substr(slash + 1);
  bool known = false;
  for (const Role candidate : {Role::kNode, Role::kOperator, Role::kViewer}) {
    if (role == RoleName(candidate)) {
      peer.role = candidate;
      known = true;
    }
  }
  if (!known || !proto::ValidNodeName(peer.name)) {
    return absl::UnauthenticatedError(absl::StrCat("certificate: identity ",
                                                   proto::SanitizeText(*found, kShownBytes),
                                                   " is not telltale://node|operator|viewer/NAME "
                                                   "with a name of 1 to 128 of a-z A-Z 0-9 . _ -"));
  }
  return peer;
}

absl::StatusOr<Peer> PeerOf(const grpc::ServerContextBase& context, const RevocationList& revoked) {
  const auto auth = context.auth_context();
  std::vector<std::string> uris;
  for (const auto& property : auth->FindPropertyValues("peer_uri")) {
    uris.emplace_back(property.data(), property.size());
  }
  if (uris.empty()) {
    for (const auto& property : auth->FindPropertyValues("x509_subject_alternative_name")) {
      uris.emplace_back(property.data(), property.size());
    }
  }
  absl::StatusOr<Peer> peer = PeerFromUris(uris);
  if (!peer.ok()) return peer;
  peer->address = context.peer();
  const auto pem = auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (pem.size() != 1) return absl::UnauthenticatedError("certificate: not one was presented");
  auto id = CertificateId(std::string(pem[0].data(), pem[0].size()));
  if (!id.ok()) return id.status();
  if (absl::Status status = revoked.Check(*id); !status.ok()) return status;
  peer->certificate_id = *std::move(id);
  return peer;
}

}  // namespace telltale::collector
