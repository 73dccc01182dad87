// The checks of the TLS files, over OpenSSL (declared in tls.h).
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/uplink/tls.h"
#include "proto/codec.h"

namespace telltale::agent {
namespace {

constexpr absl::string_view kNodePrefix = "telltale://node/";

struct Deleter {
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(GENERAL_NAMES* p) const { GENERAL_NAMES_free(p); }
  void operator()(std::FILE* p) const { std::fclose(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleter>;

std::string TakeOpenSslReason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  const std::string text = reason == nullptr ? "no reason given" : reason;
  ERR_clear_error();
  return text;
}

absl::StatusOr<Owned<std::FILE>> OpenPem(const char* what, const std::string& path) {
  Owned<std::FILE> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("tls: tls.", what, " ", path, ": ", std::strerror(errno),
                     "; issue it with `telltale pki issue` or correct the path"));
  }
  return file;
}

absl::StatusOr<Owned<X509>> ReadCertificate(const char* what, const std::string& path) {
  auto file = OpenPem(what, path);
  if (!file.ok()) return file.status();
  Owned<X509> certificate(PEM_read_X509(file->get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tls: tls.", what, " ", path, ": no PEM certificate in it (", TakeOpenSslReason(), ")"));
  }
  return certificate;
}

std::string TimeText(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable time";
  return absl::FormatTime(absl::RFC3339_sec, absl::FromTM(parts, absl::UTCTimeZone()),
                          absl::UTCTimeZone());
}

absl::Status CheckValidity(const std::string& path, const X509* certificate, int64_t unix_s) {
  time_t now = static_cast<time_t>(unix_s);
  const ASN1_TIME* begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* end = X509_get0_notAfter(certificate);
  if (X509_cmp_time(end, &now) < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("tls: tls.cert ", path, ": expired on ", TimeText(end), "; issue a new one"));
  }
  if (X509_cmp_time(begin, &now) > 0) {
    return absl::FailedPreconditionError(absl::StrCat("tls: tls.cert ", path, ": valid only from ",
                                                      TimeText(begin),
                                                      " on; correct this node's clock"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> NodeNameOf(const std::string& path, const X509* certificate) {
  const Owned<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
    const std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                           static_cast<size_t>(ASN1_STRING_length(uri)));
    if (!absl::StartsWith(text, kNodePrefix)) continue;
    const std::string node = text.substr(kNodePrefix.size());
    if (proto::ValidNodeName(node)) return node;
    return absl::InvalidArgumentError(absl::StrCat("tls: tls.cert ", path, ": node name \"",
                                                   proto::SanitizeText(node, 128),
                                                   "\" is not 1 to 128 of a-z A-Z 0-9 . _ -"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("tls: tls.cert ", path,
                   ": is no node's certificate (no URI telltale://node/NAME "
                   "in it); issue one with `telltale pki issue --role node`"));
}

}  // namespace

absl::StatusOr<std::string> CheckTlsFiles(const TlsFiles& files, int64_t unix_s) {
  if (const auto ca = ReadCertificate("ca", files.ca); !ca.ok()) return ca.status();
  const auto certificate = ReadCertificate("cert", files.cert);
  if (!certificate.ok()) return certificate.status();
  absl::Status status = CheckValidity(files.cert, certificate->get(), unix_s);
  if (!status.ok()) return status;
  auto node = NodeNameOf(files.cert, certificate->get());
  if (!node.ok()) return node;
  const auto key_file = OpenPem("key", files.key);
  if (!key_file.ok()) return key_file.status();
  // With an empty passphrase OpenSSL does not ask for one on the terminal.
  const Owned<EVP_PKEY> key(
      PEM_read_PrivateKey(key_file->get(), nullptr, nullptr, const_cast<char*>("")));
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls: tls.key ", files.key, ": no PEM private key without passphrase in it (",
                     TakeOpenSslReason(), ")"));
  }
  if (X509_check_private_key(certificate->get(), key.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(absl::StrCat("tls: tls.key ", files.key,
                                                   ": does not belong to ", files.cert,
                                                   "; use the pair that was issued together"));
  }
  return node;
}

}  // namespace telltale::agent
