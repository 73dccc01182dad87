// Reading a certificate signing request (PKCS #10) of somebody who is not known yet. Of what it
// asks for only the key is taken: names and extensions in it are never looked at. Free function,
// any thread.

#ifndef TELLTALE_COLLECTOR_PKI_REQUEST_H_
#define TELLTALE_COLLECTOR_PKI_REQUEST_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace telltale::pki {

// An RSA key of 4,096 bits with some extensions is a third of it.
inline constexpr size_t kMaxRequestBytes = 4096;

struct RequestedKey {
  std::string public_key_der;  // SubjectPublicKeyInfo
  std::string sha256;          // of that, hexadecimal
};

// InvalidArgument: too large, no PKCS #10 or more than that, not signed by its own key (the sender
// would not have to hold it), or a key that is none of EC P-256, P-384, Ed25519, RSA of 2,048 to
// 4,096 bits.
absl::StatusOr<RequestedKey> ReadRequest(const std::string& der);

}  // namespace telltale::pki

#endif  // TELLTALE_COLLECTOR_PKI_REQUEST_H_
