// The checks of the TLS files, over OpenSSL (declared in tls.h).
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/uplink/tls.h"
#include "proto/codec.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxPemBytes = 1 << 20;
constexpr absl::string_view kNodePrefix = "telltale://node/";

struct Deleter {
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(GENERAL_NAMES* p) const { GENERAL_NAMES_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
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

absl::StatusOr<std::string> ReadPem(const char* what, const std::string& path) {
  const Owned<std::FILE> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("tls: tls.", what, " ", path, ": ", std::strerror(errno),
                     "; issue it with `telltale pki issue` or correct the path"));
  }
  std::string text(kMaxPemBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (text.size() <= kMaxPemBytes) return text;
  return absl::InvalidArgumentError(absl::StrCat("tls: tls.", what, " ", path, ": over ",
                                                 kMaxPemBytes, " bytes, not a PEM file"));
}

Owned<BIO> BioOf(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// All of them, at least one.
absl::StatusOr<std::vector<Owned<X509>>> Certificates(const char* what, const std::string& path,
                                                      const std::string& text) {
  std::vector<Owned<X509>> certificates;
  const Owned<BIO> bio = BioOf(text);
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(next);
  }
  const std::string reason = TakeOpenSslReason();  // at best that there is no other
  if (!certificates.empty()) return certificates;
  return absl::InvalidArgumentError(
      absl::StrCat("tls: tls.", what, " ", path, ": no PEM certificate in it (", reason, ")"));
}

std::string TimeText(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable time";
  return absl::FormatTime(absl::RFC3339_sec, absl::FromTM(parts, absl::UTCTimeZone()),
                          absl::UTCTimeZone());
}

// `remedy`: what to do once it is over.
absl::Status CheckValidity(const char* what, const std::string& path, const X509* certificate,
                           int64_t unix_s, const std::string& remedy) {
  time_t now = static_cast<time_t>(unix_s);
  const ASN1_TIME* begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* end = X509_get0_notAfter(certificate);
  if (X509_cmp_time(end, &now) < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("tls: tls.", what, " ", path, ": expired on ", TimeText(end), "; ", remedy,
                     " and put it there, the agent takes it up by itself"));
  }
  if (X509_cmp_time(begin, &now) > 0) {
    return absl::FailedPreconditionError(absl::StrCat("tls: tls.", what, " ", path,
                                                      ": valid only from ", TimeText(begin),
                                                      " on; correct this node's clock"));
  }
  return absl::OkStatus();
}

// While authorities are changed the file holds the old and the new one: one valid is enough.
absl::Status CheckAuthorities(const std::string& path, const std::vector<Owned<X509>>& authorities,
                              int64_t unix_s) {
  absl::Status first;
  for (const Owned<X509>& authority : authorities) {
    absl::Status status =
        CheckValidity("ca", path, authority.get(), unix_s, "get the collector's present authority");
    if (status.ok()) return status;
    if (first.ok()) first = std::move(status);
  }
  return first;
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

absl::StatusOr<std::string> ReadNodeName(const TlsFiles& files) {
  const auto text = ReadPem("cert", files.cert);
  if (!text.ok()) return text.status();
  const auto chain = Certificates("cert", files.cert, *text);
  if (!chain.ok()) return chain.status();
  return NodeNameOf(files.cert, chain->front().get());
}

absl::StatusOr<TlsTexts> ReadTlsFiles(const TlsFiles& files, int64_t unix_s) {
  TlsTexts texts;
  const std::tuple<const char*, const std::string&, std::string&> all[] = {
      {"ca", files.ca, texts.ca}, {"cert", files.cert, texts.cert}, {"key", files.key, texts.key}};
  for (const auto& [what, path, text] : all) {
    auto read = ReadPem(what, path);
    if (!read.ok()) return read.status();
    text = *std::move(read);
  }
  const auto authorities = Certificates("ca", files.ca, texts.ca);
  if (!authorities.ok()) return authorities.status();
  const auto chain = Certificates("cert", files.cert, texts.cert);
  if (!chain.ok()) return chain.status();
  X509* const own = chain->front().get();
  auto node = NodeNameOf(files.cert, own);
  if (!node.ok()) return node.status();
  texts.node = *std::move(node);
  // With an empty passphrase OpenSSL does not ask for one on the terminal.
  const Owned<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(BioOf(texts.key).get(), nullptr, nullptr, const_cast<char*>("")));
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls: tls.key ", files.key, ": no PEM private key without passphrase in it (",
                     TakeOpenSslReason(), ")"));
  }
  if (X509_check_private_key(own, key.get()) != 1) {
    ERR_clear_error();
    // A renewal that was cut short between its two files: the certificate of this key lies beside.
    if (!absl::EndsWith(files.cert, kNextCertificate)) {
      auto finished =
          ReadTlsFiles({files.ca, absl::StrCat(files.cert, kNextCertificate), files.key}, unix_s);
      if (finished.ok()) return finished;
    }
    return absl::InvalidArgumentError(absl::StrCat("tls: tls.key ", files.key,
                                                   ": does not belong to ", files.cert,
                                                   "; use the pair that was issued together"));
  }
  absl::Status status = CheckAuthorities(files.ca, *authorities, unix_s);
  if (status.ok()) {
    status =
        CheckValidity("cert", files.cert, own, unix_s,
                      absl::StrCat("issue a new one with `telltale pki issue --role node --name ",
                                   texts.node, " --force`"));
  }
  if (!status.ok()) return status;
  return texts;
}

}  // namespace telltale::agent
