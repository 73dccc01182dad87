#include "collector/peer.h"

#include <grpcpp/grpcpp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "collector/pem.h"
#include "collector/revocation.h"

namespace telltale::collector {
namespace {

// Of the peer's certificate and of those among the ones it sent that this rests on, one after the
// other: what else it sent says nothing. gRPC tells what was sent, not what the handshake found.
absl::StatusOr<CertificateIds> PathIds(const X509* certificate, const grpc::AuthContext& auth) {
  CertificateIds ids = {CertificateId(certificate)};
  std::vector<OpenSslPtr<X509>> sent;
  // Without the peer's own, as OpenSSL gives it to servers.
  for (const auto& pems : auth.FindPropertyValues(GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME)) {
    auto parsed =
        ParseCertificates("certificate", "of the peer", std::string(pems.data(), pems.size()));
    if (!parsed.ok()) return absl::UnauthenticatedError(parsed.status().message());
    for (auto& one : *parsed) sent.push_back(std::move(one));
  }
  const X509* below = certificate;
  std::vector<OpenSslPtr<X509>> path;
  while (!sent.empty()) {
    const auto above = std::ranges::find_if(sent, [below](const OpenSslPtr<X509>& one) {
      return X509_check_issued(one.get(), const_cast<X509*>(below)) == X509_V_OK &&
             X509_verify(const_cast<X509*>(below), X509_get0_pubkey(one.get())) == 1;
    });
    if (above == sent.end()) break;
    ids.push_back(CertificateId(above->get()));
    path.push_back(std::move(*above));
    sent.erase(above);
    below = path.back().get();
  }
  ERR_clear_error();
  return ids;
}

}  // namespace

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
  auto ids = PathIds(certificate, *auth);
  if (!ids.ok()) return ids.status();
  peer.certificate_ids = *std::move(ids);
  const absl::Status counts = peer.role == Role::kNode
                                  ? revoked.CheckNode(peer.name, peer.certificate_ids)
                                  : revoked.Check(peer.certificate_ids);
  if (!counts.ok()) return counts;
  peer.certificate_end_s = EndOfValidity(certificate).value_or(0);
  return peer;
}

}  // namespace telltale::collector
