#include "agent/enroll/node_key.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

struct Free {
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(X509_REQ* p) const { X509_REQ_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

absl::Status Failed(const char* step) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  const std::string text = reason == nullptr ? "no reason given" : reason;
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("enrol: ", step, " failed: ", text));
}

Owned<BIO> Reader(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Owned<EVP_PKEY> ReadKey(const std::string& pem) {
  return Owned<EVP_PKEY>(
      PEM_read_bio_PrivateKey(Reader(pem).get(), nullptr, nullptr, const_cast<char*>("")));
}

Owned<X509> ReadCertificate(const std::string& pem) {
  return Owned<X509>(PEM_read_bio_X509(Reader(pem).get(), nullptr, nullptr, nullptr));
}

std::string Hex(const unsigned char* digest, size_t size) {
  return std::string(
      absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size)));
}

absl::StatusOr<std::string> Request(EVP_PKEY* key) {
  const Owned<X509_REQ> request(X509_REQ_new());
  unsigned char* der = nullptr;
  if (X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key) != 1 ||
      X509_REQ_sign(request.get(), key, EVP_sha256()) == 0) {
    return Failed("signing the request");
  }
  const int size = i2d_X509_REQ(request.get(), &der);
  if (size <= 0) return Failed("writing the request");
  std::string bytes(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return bytes;
}

}  // namespace

absl::StatusOr<NodeKey> MakeNodeKey() {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("making a key");
  const Owned<BIO> out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return Failed("writing the key");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  auto request = Request(key.get());
  if (!request.ok()) return request.status();
  return NodeKey{std::string(data, static_cast<size_t>(size)), *std::move(request)};
}

absl::StatusOr<std::string> RequestFor(const std::string& key_pem) {
  const Owned<EVP_PKEY> key = ReadKey(key_pem);
  if (key == nullptr) return Failed("reading the key");
  return Request(key.get());
}

absl::StatusOr<std::string> PublicKeySha256(const std::string& key_pem) {
  const Owned<EVP_PKEY> key = ReadKey(key_pem);
  unsigned char* der = nullptr;
  const int size = key == nullptr ? 0 : i2d_PUBKEY(key.get(), &der);
  if (size <= 0) return Failed("reading the key");
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(der, static_cast<size_t>(size), digest);
  OPENSSL_free(der);
  return Hex(digest, sizeof digest);
}

absl::StatusOr<Validity> ValidityOf(const std::string& certificate_pem) {
  const Owned<X509> certificate = ReadCertificate(certificate_pem);
  std::tm begin = {}, end = {};
  if (certificate == nullptr ||
      ASN1_TIME_to_tm(X509_get0_notBefore(certificate.get()), &begin) != 1 ||
      ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) {
    return Failed("reading the certificate");
  }
  return Validity{timegm(&begin), timegm(&end)};
}

bool CertificateFits(const std::string& certificate_pem, const std::string& key_pem) {
  const Owned<X509> certificate = ReadCertificate(certificate_pem);
  const Owned<EVP_PKEY> key = ReadKey(key_pem);
  const bool fits = certificate != nullptr && key != nullptr &&
                    X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return fits;
}

absl::StatusOr<std::string> PinnedAuthority(const std::string& authorities_pem,
                                            const std::string& sha256) {
  const Owned<BIO> in = Reader(authorities_pem);
  std::string seen;
  while (Owned<X509> next{PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)}) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (X509_digest(next.get(), EVP_sha256(), digest, &size) != 1) break;
    const std::string hex = Hex(digest, size);
    if (hex == sha256) {
      const Owned<BIO> out(BIO_new(BIO_s_mem()));
      if (PEM_write_bio_X509(out.get(), next.get()) != 1) return Failed("writing the authority");
      char* data = nullptr;
      const long length = BIO_get_mem_data(out.get(), &data);
      ERR_clear_error();
      return std::string(data, static_cast<size_t>(length));
    }
    if (seen.empty()) seen = hex;
  }
  ERR_clear_error();
  return absl::NotFoundError(absl::StrCat(
      "enrol: what answers there has another authority (sha256:", seen.empty() ? "none" : seen,
      ") than --ca-hash sha256:", sha256,
      "; nothing was told to it. Compare with telltale pki show of the collector's tls.ca"));
}

}  // namespace telltale::agent
