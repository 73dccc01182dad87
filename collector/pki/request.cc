#include "collector/pki/request.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace telltale::pki {
namespace {

constexpr int kLeastRsaBits = 2048, kMostRsaBits = 4096;

absl::Status Refuse(const char* why) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("enrol: the signing request ", why));
}

bool GoodKey(EVP_PKEY* key) {
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_ED25519:
      return true;
    case EVP_PKEY_RSA:
      return EVP_PKEY_get_bits(key) >= kLeastRsaBits && EVP_PKEY_get_bits(key) <= kMostRsaBits;
    case EVP_PKEY_EC: {
      // By name only: explicit parameters could describe a curve on which nothing is hard.
      char group[64] = "";
      size_t size = 0;
      if (EVP_PKEY_get_group_name(key, group, sizeof group, &size) != 1) return false;
      const std::string name(group, size);
      return name == "prime256v1" || name == "P-256" || name == "secp384r1" || name == "P-384";
    }
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<RequestedKey> ReadRequest(const std::string& der) {
  if (der.empty() || der.size() > kMaxRequestBytes) {
    return absl::InvalidArgumentError(absl::StrCat("enrol: the signing request has ", der.size(),
                                                   " bytes, must be 1 to ", kMaxRequestBytes));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const unsigned char* const end = bytes + der.size();
  const std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)> request(
      d2i_X509_REQ(nullptr, &bytes, static_cast<long>(der.size())), &X509_REQ_free);
  if (request == nullptr || bytes != end) return Refuse("is no PKCS #10 in DER");
  EVP_PKEY* const key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr || !GoodKey(key)) {
    return Refuse("has a key that is none of EC P-256, P-384, Ed25519, RSA of 2,048 to 4,096 bits");
  }
  if (X509_REQ_verify(request.get(), key) != 1) return Refuse("is not signed by its own key");
  unsigned char* public_key = nullptr;
  const int size = i2d_PUBKEY(key, &public_key);
  if (size <= 0) return Refuse("has a key that cannot be written");
  RequestedKey requested;
  requested.public_key_der.assign(reinterpret_cast<char*>(public_key), static_cast<size_t>(size));
  OPENSSL_free(public_key);
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(requested.public_key_der.data()),
         requested.public_key_der.size(), digest);
  requested.sha256 = std::string(absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof digest)));
  return requested;
}

}  // namespace telltale::pki
