// Reading PEM files and naming what is wrong with them, over OpenSSL. Private to the collector's
// TLS code; free functions, any thread.

#ifndef TELLTALE_COLLECTOR_PEM_H_
#define TELLTALE_COLLECTOR_PEM_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::collector {

struct OpenSslDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_CRL* crl) const { X509_CRL_free(crl); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using OpenSslPtr = std::unique_ptr<T, OpenSslDeleter>;

// Whole file, at most 1 MiB. Errors: "tls: WHAT FILE cannot be read: reason; remedy".
absl::StatusOr<std::string> ReadPemFile(const char* what, const std::string& file);

// All certificates of a PEM text; an error if there is none or one is damaged.
absl::StatusOr<std::vector<OpenSslPtr<X509>>> ParseCertificates(const char* what,
                                                                const std::string& file,
                                                                const std::string& pem);

// When it is valid no longer, in Unix seconds; nullopt: it does not say so readably.
std::optional<int64_t> EndOfValidity(const X509* certificate);
// When its authority meant to have the next one out; as above.
std::optional<int64_t> NextUpdate(const X509_CRL* list);

// Memory BIO over `text`, which must outlive it.
OpenSslPtr<BIO> TextBio(const std::string& text);

// First line of OpenSSL's error queue, which is cleared.
std::string OpenSslError();

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_PEM_H_
