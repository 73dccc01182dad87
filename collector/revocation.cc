#include "collector/revocation.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/pem.h"

namespace telltale::collector {
namespace {

std::string NameBytes(const X509_NAME* name) {
  unsigned char* der = nullptr;
  const int length = i2d_X509_NAME(name, &der);
  if (length <= 0) return "";
  std::string bytes(reinterpret_cast<char*>(der), static_cast<size_t>(length));
  OPENSSL_free(der);
  return bytes;
}

std::string SerialText(const ASN1_INTEGER* serial) {
  BIGNUM* number = ASN1_INTEGER_to_BN(serial, nullptr);
  if (number == nullptr) return "";
  char* hex = BN_bn2hex(number);
  std::string text = hex == nullptr ? "" : hex;
  OPENSSL_free(hex);
  BN_free(number);
  return text;
}

std::string MakeId(const X509_NAME* issuer, const ASN1_INTEGER* serial) {
  return absl::StrCat(SerialText(serial), "/", NameBytes(issuer));
}

bool SignedByOneOf(X509_CRL* crl, const std::vector<OpenSslPtr<X509>>& authorities) {
  for (const auto& authority : authorities) {
    if (X509_NAME_cmp(X509_get_subject_name(authority.get()), X509_CRL_get_issuer(crl)) == 0 &&
        X509_CRL_verify(crl, X509_get0_pubkey(authority.get())) == 1) {
      return true;
    }
  }
  ERR_clear_error();
  return false;
}

}  // namespace

absl::StatusOr<std::string> CertificateId(const std::string& certificate_pem) {
  const auto certificates = ParseCertificates("certificate", "of the peer", certificate_pem);
  if (!certificates.ok()) return absl::UnauthenticatedError(certificates.status().message());
  return CertificateId(certificates->front().get());
}

std::string CertificateId(const X509* certificate) {
  return MakeId(X509_get_issuer_name(certificate), X509_get0_serialNumber(certificate));
}

absl::Status RevocationList::Load(const std::string& crl_file,
                                  const std::vector<std::string>& ca_files) {
  if (crl_file.empty()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    revoked_.clear();
    return absl::OkStatus();
  }
  std::vector<OpenSslPtr<X509>> authorities;
  for (const std::string& ca_file : ca_files) {
    if (ca_file.empty()) continue;
    const auto ca_text = ReadPemFile("ca", ca_file);
    if (!ca_text.ok()) return ca_text.status();
    auto parsed = ParseCertificates("ca", ca_file, *ca_text);
    if (!parsed.ok()) return parsed.status();
    for (auto& authority : *parsed) authorities.push_back(std::move(authority));
  }
  const auto text = ReadPemFile("crl", crl_file);
  if (!text.ok()) return text.status();

  std::set<std::string> ids;
  size_t lists = 0;
  const OpenSslPtr<BIO> bio = TextBio(*text);
  while (OpenSslPtr<X509_CRL> crl{PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr)}) {
    ++lists;
    if (!SignedByOneOf(crl.get(), authorities)) {
      return absl::InvalidArgumentError(absl::StrCat("tls: crl ", crl_file, ": list ", lists,
                                                     " is not signed by an authority in ",
                                                     absl::StrJoin(ca_files, " ")));
    }
    const X509_NAME* issuer = X509_CRL_get_issuer(crl.get());
    const STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(crl.get());
    for (int i = 0; i < sk_X509_REVOKED_num(revoked); ++i) {
      const X509_REVOKED* entry = sk_X509_REVOKED_value(revoked, i);
      ids.insert(MakeId(issuer, X509_REVOKED_get0_serialNumber(entry)));
    }
  }
  const bool end_of_file = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = OpenSslError();
  if (lists == 0 || !end_of_file) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tls: crl ", crl_file, " holds no readable PEM revocation list (", reason, ")"));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  revoked_ = std::move(ids);
  return absl::OkStatus();
}

absl::Status RevocationList::Check(const std::string& certificate_id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!revoked_.contains(certificate_id)) return absl::OkStatus();
  return absl::UnauthenticatedError(absl::StrCat("certificate: serial ",
                                                 certificate_id.substr(0, certificate_id.find('/')),
                                                 " is revoked; issue another"));
}

void RevocationList::SetOnly(const std::string& node, const std::vector<std::string>& serials) {
  const std::lock_guard<std::mutex> lock(mutex_);
  only_[node] = {serials.begin(), serials.end()};
}

absl::Status RevocationList::CheckNode(const std::string& node,
                                       const std::string& certificate_id) const {
  if (absl::Status status = Check(certificate_id); !status.ok()) return status;
  const std::string serial = certificate_id.substr(0, certificate_id.find('/'));
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = only_.find(node);
  if (found == only_.end() || found->second.contains(serial)) return absl::OkStatus();
  return absl::UnauthenticatedError(
      absl::StrCat("certificate: serial ", serial, " of node ", node,
                   " is revoked; enrol the node anew: telltale enroll token --node ", node));
}

size_t RevocationList::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return revoked_.size();
}

}  // namespace telltale::collector
