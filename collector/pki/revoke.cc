#include "collector/pki/revoke.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace telltale::pki {
namespace {

struct Free {
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(X509_CRL* p) const { X509_CRL_free(p); }
  void operator()(X509_REVOKED* p) const { X509_REVOKED_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(ASN1_STRING* p) const { ASN1_STRING_free(p); }  // times and numbers too
  void operator()(BIGNUM* p) const { BN_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

absl::Status Wrong(const std::string& what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("revoke: ", what));
}

Owned<BIO> Reader(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

absl::Status Add(X509_CRL* list, const ASN1_INTEGER* serial, const ASN1_TIME* when) {
  X509_REVOKED* known = nullptr;
  if (X509_CRL_get0_by_serial(list, &known, const_cast<ASN1_INTEGER*>(serial)) == 1) {
    return absl::OkStatus();
  }
  Owned<X509_REVOKED> entry(X509_REVOKED_new());
  if (X509_REVOKED_set_serialNumber(entry.get(), const_cast<ASN1_INTEGER*>(serial)) != 1 ||
      X509_REVOKED_set_revocationDate(entry.get(), const_cast<ASN1_TIME*>(when)) != 1 ||
      X509_CRL_add0_revoked(list, entry.get()) != 1) {
    return Wrong("a list cannot be made");
  }
  (void)entry.release();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> RevokeSerials(const KeyPair& authority, const std::string& before,
                                          const std::vector<std::string>& serials, absl::Time now,
                                          absl::Time next_update) {
  const Owned<X509> issuer(
      PEM_read_bio_X509(Reader(authority.certificate).get(), nullptr, nullptr, nullptr));
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(Reader(authority.key).get(), nullptr, nullptr,
                                                    const_cast<char*>("")));
  if (issuer == nullptr || key == nullptr || X509_check_private_key(issuer.get(), key.get()) != 1) {
    return Wrong("certificate and key of the authority cannot be read or do not fit each other");
  }
  const Owned<X509_CRL> list(X509_CRL_new());
  const Owned<ASN1_TIME> from(ASN1_TIME_set(nullptr, absl::ToTimeT(now)));
  const Owned<ASN1_TIME> until(ASN1_TIME_set(nullptr, absl::ToTimeT(next_update)));
  X509_CRL_set_version(list.get(), X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(issuer.get()));
  X509_CRL_set1_lastUpdate(list.get(), from.get());
  X509_CRL_set1_nextUpdate(list.get(), until.get());

  const Owned<BIO> out(BIO_new(BIO_s_mem()));
  const Owned<BIO> old = Reader(before);
  while (Owned<X509_CRL> next{PEM_read_bio_X509_CRL(old.get(), nullptr, nullptr, nullptr)}) {
    if (X509_NAME_cmp(X509_CRL_get_issuer(next.get()), X509_get_subject_name(issuer.get())) != 0) {
      PEM_write_bio_X509_CRL(out.get(), next.get());
      continue;
    }
    STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(next.get());
    for (int i = 0; i < sk_X509_REVOKED_num(revoked); ++i) {
      const X509_REVOKED* entry = sk_X509_REVOKED_value(revoked, i);
      const absl::Status added = Add(list.get(), X509_REVOKED_get0_serialNumber(entry),
                                     X509_REVOKED_get0_revocationDate(entry));
      if (!added.ok()) return added;
    }
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return Wrong("the list there is cannot be read");
  }
  ERR_clear_error();
  for (const std::string& serial : serials) {
    BIGNUM* number = nullptr;
    const bool whole = !serial.empty() && serial.size() <= 40 &&
                       BN_hex2bn(&number, serial.c_str()) == static_cast<int>(serial.size());
    const Owned<BIGNUM> owned(number);
    if (!whole)
      return Wrong(absl::StrCat("serial ", serial.substr(0, 64), " is no hexadecimal number"));
    const Owned<ASN1_INTEGER> integer(BN_to_ASN1_INTEGER(owned.get(), nullptr));
    if (absl::Status added = Add(list.get(), integer.get(), from.get()); !added.ok()) return added;
  }
  X509_CRL_sort(list.get());
  if (X509_CRL_sign(list.get(), key.get(), EVP_sha256()) == 0 ||
      PEM_write_bio_X509_CRL(out.get(), list.get()) != 1) {
    return Wrong("the list cannot be signed");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

absl::StatusOr<bool> HasListOf(const std::string& authority, const std::string& lists) {
  const Owned<X509> issuer(PEM_read_bio_X509(Reader(authority).get(), nullptr, nullptr, nullptr));
  if (issuer == nullptr) return Wrong("the certificate of the authority cannot be read");
  const Owned<BIO> text = Reader(lists);
  bool has = false;
  while (Owned<X509_CRL> next{PEM_read_bio_X509_CRL(text.get(), nullptr, nullptr, nullptr)}) {
    has |= X509_NAME_cmp(X509_CRL_get_issuer(next.get()), X509_get_subject_name(issuer.get())) == 0;
  }
  ERR_clear_error();
  return has;
}

}  // namespace telltale::pki
