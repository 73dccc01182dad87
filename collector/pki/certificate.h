// Keys and certificates: EC P-256, a root authority, one below it that issues, and certificates
// whose URI SAN says who one is (telltale://node|operator|viewer/NAME). Also reads certificates, to
// show them and to explain refusals.
//
// Values and free functions over OpenSSL; any thread.

#ifndef TELLTALE_COLLECTOR_PKI_CERTIFICATE_H_
#define TELLTALE_COLLECTOR_PKI_CERTIFICATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace telltale::pki {

// A certificate with its private key, PEM.
struct KeyPair {
  std::string certificate;
  std::string key;
};

struct Subject {
  std::string common_name;
  std::vector<std::string> uris;
  std::vector<std::string> dns;
  std::vector<std::string> ips;
  absl::Time not_before, not_after;
  bool server = false;  // may be a TLS server (else only a client)
};

// Self-signed; may sign others, and authorities that issue (path length 1).
absl::StatusOr<KeyPair> MakeAuthority(const std::string& common_name, absl::Time not_before,
                                      absl::Time not_after);

// An authority below `root` for nodes (telltale://node/NAME) and nobody else: no operators, no
// servers, no authorities. It is the one to have at hand, while the root's key lies elsewhere.
// InvalidArgument: the root may not, or ends earlier.
absl::StatusOr<KeyPair> MakeIssuing(const KeyPair& root, const std::string& common_name,
                                    absl::Time not_before, absl::Time not_after);

// Signed by the authority. InvalidArgument: an IP or DNS name that is none, or validity beyond the
// authority's.
absl::StatusOr<KeyPair> Issue(const KeyPair& authority, const Subject& subject);

// The same for a key that is somebody else's, of which only the public half is known
// (SubjectPublicKeyInfo, DER).
absl::StatusOr<std::string> Certify(const KeyPair& authority, const Subject& subject,
                                    const std::string& public_key_der);

struct CertificateFacts {
  std::string subject, issuer, serial;
  std::vector<std::string> uris, dns, ips;
  absl::Time not_before, not_after;
  bool authority = false;
  std::string sha256;  // fingerprint, hex with colons
};

// Every certificate of a PEM file, in order. InvalidArgument: there is none in it.
absl::StatusOr<std::vector<CertificateFacts>> ReadCertificates(const std::string& pem);

// Whether the PEM private key belongs to the PEM certificate.
absl::StatusOr<bool> KeyFits(const std::string& certificate_pem, const std::string& key_pem);

}  // namespace telltale::pki

#endif  // TELLTALE_COLLECTOR_PKI_CERTIFICATE_H_
