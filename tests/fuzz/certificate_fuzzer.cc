// Feeds arbitrary bytes to the readers of what somebody without a certificate, or with one of his
// own making, brings. The first byte chooses the door:
// - r: a signing request (DER), as strangers send it to be enrolled
// - c: a certificate (DER), whose identity is read
// - u: a URI that should be an identity
// What is taken must be within its limits; what is refused is one line that shows no control
// characters.
#include <openssl/x509.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "collector/identity.h"
#include "collector/pki/request.h"
#include "proto/codec.h"
#include "proto/text.h"

namespace {

using namespace telltale;

void Require(bool fact) {
  if (!fact) std::abort();
}

void RequireOneLine(const absl::Status& status) {
  Require(!status.message().empty() && proto::Printable(std::string(status.message())));
}

void ReadRequest(const std::string& der) {
  const auto request = pki::ReadRequest(der);
  if (!request.ok()) {
    Require(absl::IsInvalidArgument(request.status()));
    RequireOneLine(request.status());
    return;
  }
  Require(der.size() <= pki::kMaxRequestBytes);
  Require(!request->public_key_der.empty() && request->public_key_der.size() < der.size());
  Require(request->sha256.size() == 64);
}

void RequireIdentity(const absl::StatusOr<collector::Identity>& identity) {
  if (!identity.ok()) {
    Require(absl::IsUnauthenticated(identity.status()));
    RequireOneLine(identity.status());
    return;
  }
  Require(proto::ValidNodeName(identity->name));
}

void ReadCertificate(const std::string& der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      d2i_X509(nullptr, &bytes, static_cast<long>(der.size())), &X509_free);
  if (certificate != nullptr) RequireIdentity(collector::IdentityOf(certificate.get()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'r':
      ReadRequest(rest);
      break;
    case 'c':
      ReadCertificate(rest);
      break;
    case 'u':
      RequireIdentity(collector::ParseIdentity(rest));
      break;
    default:
      break;
  }
  return 0;
}
