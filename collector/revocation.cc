#include "collector/revocation.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/pem.h"

namespace telltale::collector {
namespace {

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

std::string NameText(const X509_NAME* name) {
  const OpenSslPtr<BIO> bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(size)};
}

}  // namespace

absl::Status RevocationList::Load(const std::string& crl_file, const std::string& ca_file,
                                  const std::string& issuing_file) {
  if (crl_file.empty()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    revoked_.clear();
    update_.reset();
    return absl::OkStatus();
  }
  std::vector<OpenSslPtr<X509>> authorities;
  std::vector<std::pair<std::string, std::string>> trusted;  // id, name
  for (const std::string& file : {ca_file, issuing_file}) {
    if (file.empty()) continue;
    const auto ca_text = ReadPemFile("ca", file);
    if (!ca_text.ok()) return ca_text.status();
    auto parsed = ParseCertificates("ca", file, *ca_text);
    if (!parsed.ok()) return parsed.status();
    for (auto& authority : *parsed) authorities.push_back(std::move(authority));
    if (file != ca_file) continue;
    // Whatever is wrong with the rest: handshakes believe them from now on.
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& authority : authorities) {
      trusted.emplace_back(CertificateId(authority.get()),
                           NameBytes(X509_get_subject_name(authority.get())));
      trusted_.insert(trusted.back().second);
    }
  }
  const auto text = ReadPemFile("crl", crl_file);
  if (!text.ok()) return text.status();

  std::set<std::string> ids;
  std::map<std::string, Update> updates;  // by the authority's name as it is encoded
  size_t lists = 0;
  const OpenSslPtr<BIO> bio = TextBio(*text);
  while (OpenSslPtr<X509_CRL> crl{PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr)}) {
    ++lists;
    if (!SignedByOneOf(crl.get(), authorities)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tls: crl ", crl_file, ": list ", lists, " is not signed by an authority in ", ca_file,
          issuing_file.empty() ? "" : " ", issuing_file));
    }
    const X509_NAME* issuer = X509_CRL_get_issuer(crl.get());
    if (const auto due_s = NextUpdate(crl.get())) {
      Update& update = updates[NameBytes(issuer)];
      if (update.file.empty() || *due_s > update.due_s) {
        update = {*due_s, NameText(issuer), crl_file};
      }
    }
    const STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(crl.get());
    for (int i = 0; i < sk_X509_REVOKED_num(revoked); ++i) {
      const X509_REVOKED* entry = sk_X509_REVOKED_value(revoked, i);
      ids.insert(CertificateId(issuer, X509_REVOKED_get0_serialNumber(entry)));
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
  update_.reset();
  for (auto& [name, update] : updates) {
    if (!update_ || update.due_s < update_->due_s) update_ = std::move(update);
  }
  // Handshakes believe an authority in tls.ca that is itself on a list, and then no other is sent.
  for (const auto& [id, name] : trusted) {
    if (revoked_.contains(id)) trusted_.erase(name);
  }
  for (const auto& [id, name] : trusted) {
    if (!revoked_.contains(id)) trusted_.insert(name);
  }
  return absl::OkStatus();
}

absl::Status RevocationList::Check(const CertificateIds& certificates) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (revoked_.empty()) return absl::OkStatus();
  const auto revoked = std::ranges::find_if(
      certificates, [this](const std::string& id) { return revoked_.contains(id); });
  if (revoked != certificates.end()) {
    const char* whose = revoked == certificates.begin() ? "" : "its authority's ";
    return absl::UnauthenticatedError(absl::StrCat(
        "certificate: ", whose, "serial ", SerialOf(*revoked), " is revoked; issue another"));
  }
  if (std::ranges::any_of(certificates, [this](const std::string& id) {
        return trusted_.contains(IssuerOf(id));
      })) {
    return absl::OkStatus();
  }
  return absl::UnauthenticatedError(
      "certificate: came without that of its authority, which may be revoked; send the whole "
      "chain, in a TLS session of its own");
}

void RevocationList::SetOnly(const std::string& node, const std::vector<std::string>& serials) {
  const std::lock_guard<std::mutex> lock(mutex_);
  only_[node] = {serials.begin(), serials.end()};
}

absl::Status RevocationList::CheckNode(const std::string& node,
                                       const CertificateIds& certificates) const {
  if (absl::Status status = Check(certificates); !status.ok()) return status;
  const std::string serial = certificates.empty() ? "" : SerialOf(certificates.front());
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

std::optional<int64_t> RevocationList::next_update_s() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return update_ ? std::optional(update_->due_s) : std::nullopt;
}

std::optional<std::string> RevocationList::Outdated(int64_t unix_s) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!update_ || unix_s <= update_->due_s) return std::nullopt;
  return absl::StrCat("tls: crl ", update_->file, ": the list of ", update_->authority,
                      " is outdated, its next was due ",
                      absl::FormatTime(absl::RFC3339_sec, absl::FromUnixSeconds(update_->due_s),
                                       absl::UTCTimeZone()),
                      "; it stays in force, but what was revoked since is not on it: bring the "
                      "next one (telltale pki revoke "
                      "signs it anew, also where what it is given is on it)");
}

}  // namespace telltale::collector
