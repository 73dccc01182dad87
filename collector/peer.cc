#include "collector/peer.h"

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>
#include <vector>

#include "collector/pem.h"
#include "collector/revocation.h"

namespace telltale::collector {
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
  absl::StatusOr<Identity> identity = IdentityOf(uris);
  if (!identity.ok()) return identity.status();
  Peer peer;
  static_cast<Identity&>(peer) = *std::move(identity);
  peer.address = context.peer();
  const auto pem = auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (pem.size() != 1) return absl::UnauthenticatedError("certificate: not one was presented");
  const auto presented =
      ParseCertificates("certificate", "of the peer", std::string(pem[0].data(), pem[0].size()));
  if (!presented.ok()) return absl::UnauthenticatedError(presented.status().message());
  const X509* certificate = presented->front().get();
  peer.certificate_ids.push_back(CertificateId(certificate));
  // OpenSSL gives a server the chain without the peer's own.
  for (const auto& pems : auth->FindPropertyValues(GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME)) {
    const auto chain =
        ParseCertificates("certificate", "of the peer", std::string(pems.data(), pems.size()));
    if (!chain.ok()) return absl::UnauthenticatedError(chain.status().message());
    for (const auto& above : *chain) peer.certificate_ids.push_back(CertificateId(above.get()));
  }
  const absl::Status counts = peer.role == Role::kNode
                                  ? revoked.CheckNode(peer.name, peer.certificate_ids)
                                  : revoked.Check(peer.certificate_ids);
  if (!counts.ok()) return counts;
  peer.certificate_end_s = EndOfValidity(certificate).value_or(0);
  return peer;
}

}  // namespace telltale::collector
