// A private key made here, and the signing request for it. Values over OpenSSL; any thread.

#ifndef TELLTALE_AGENT_ENROLL_NODE_KEY_H_
#define TELLTALE_AGENT_ENROLL_NODE_KEY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace telltale::agent {

struct NodeKey {
  std::string key_pem;          // never leaves the node
  std::string signing_request;  // PKCS #10, DER; its subject is empty, the collector decides
};

// EC P-256.
absl::StatusOr<NodeKey> MakeNodeKey();

// A signing request for a key made before. ECDSA takes random numbers: another one each time.
absl::StatusOr<std::string> RequestFor(const std::string& key_pem);

// SHA-256 of its public half, hexadecimal: what an operator compares.
absl::StatusOr<std::string> PublicKeySha256(const std::string& key_pem);

// From when to when the first certificate of the text is valid, in Unix seconds.
struct Validity {
  int64_t begin_s = 0, end_s = 0;
};
absl::StatusOr<Validity> ValidityOf(const std::string& certificate_pem);

// Whether the first certificate is for this key.
bool CertificateFits(const std::string& certificate_pem, const std::string& key_pem);

// The certificate of the text (PEM) whose SHA-256 is `sha256` (hexadecimal, lower case). NotFound.
absl::StatusOr<std::string> PinnedAuthority(const std::string& authorities_pem,
                                            const std::string& sha256);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_ENROLL_NODE_KEY_H_
