#include "collector/tls.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/pem.h"

namespace telltale::collector {
namespace {

constexpr unsigned kRefreshSeconds = 1;

absl::StatusOr<absl::Time> TimeOf(const ASN1_TIME* time) {
  struct tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InvalidArgumentError("unreadable time");
  return absl::FromTM(parts, absl::UTCTimeZone());
}

absl::Status CheckValidity(const std::string& file, const X509* certificate, int64_t unix_s) {
  const auto begin = TimeOf(X509_get0_notBefore(certificate));
  const auto end = TimeOf(X509_get0_notAfter(certificate));
  if (!begin.ok() || !end.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls: cert ", file, ": its validity cannot be read; issue another"));
  }
  const absl::Time now = absl::FromUnixSeconds(unix_s);
  if (now < *begin || now > *end) {
    return absl::FailedPreconditionError(absl::StrCat(
        "tls: cert ", file, " is valid from ", absl::FormatTime(*begin, absl::UTCTimeZone()),
        " to ", absl::FormatTime(*end, absl::UTCTimeZone()), ", now is ",
        absl::FormatTime(now, absl::UTCTimeZone()), "; issue another or correct the clock"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTlsFiles(const TlsFiles& files, int64_t unix_s) {
  const auto ca = ReadPemFile("ca", files.ca);
  if (!ca.ok()) return ca.status();
  if (const auto parsed = ParseCertificates("ca", files.ca, *ca); !parsed.ok()) {
    return parsed.status();
  }
  const auto cert = ReadPemFile("cert", files.cert);
  if (!cert.ok()) return cert.status();
  const auto chain = ParseCertificates("cert", files.cert, *cert);
  if (!chain.ok()) return chain.status();
  if (absl::Status status = CheckValidity(files.cert, chain->front().get(), unix_s); !status.ok()) {
    return status;
  }
  const auto key_text = ReadPemFile("key", files.key);
  if (!key_text.ok()) return key_text.status();
  struct stat info = {};
  if (stat(files.key.c_str(), &info) == 0 && (info.st_mode & S_IRWXO) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("tls: key ", files.key, " can be read by everybody; chmod o= it"));
  }
  const OpenSslPtr<BIO> bio = TextBio(*key_text);
  // An empty passphrase instead of the default callback, which would ask on the terminal.
  const OpenSslPtr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, const_cast<char*>("")));
  if (key == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("tls: key ", files.key,
                                                   " holds no readable PEM private key without "
                                                   "passphrase (",
                                                   OpenSslError(), ")"));
  }
  if (X509_check_private_key(chain->front().get(), key.get()) != 1) {
    OpenSslError();
    return absl::InvalidArgumentError(absl::StrCat("tls: key ", files.key,
                                                   " does not belong to certificate ", files.cert,
                                                   "; give the pair that was issued together"));
  }
  return absl::OkStatus();
}

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const TlsFiles& files) {
  const auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key, files.cert, files.ca, kRefreshSeconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> MakeOpenServerCredentials(const TlsFiles& files) {
  const auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key, files.cert, kRefreshSeconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  return grpc::experimental::TlsServerCredentials(options);
}

void ReleaseIdleTlsBuffers() {
  // gRPC makes its connections itself and has no option for it: whenever anybody makes one, OpenSSL
  // calls this.
  const auto made = [](void* connection, void*, CRYPTO_EX_DATA*, int, long, void*) {
    SSL_set_mode(static_cast<SSL*>(connection), SSL_MODE_RELEASE_BUFFERS);
  };
  SSL_get_ex_new_index(0, nullptr, made, nullptr, nullptr);
}

void RequireTls13() {
  // A pre-shared-key cipher: accepted by OpenSSL as a list, never usable with a certificate.
  setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES256-GCM-SHA384", /*overwrite=*/1);
}

}  // namespace telltale::collector
