#include "collector/pki/certificate.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace telltale::pki {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Memory = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

absl::Status Failed(const char* step) {
  char text[256] = "no reason given";
  if (const unsigned long error = ERR_get_error(); error != 0)
    ERR_error_string_n(error, text, sizeof text);
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("certificate: ", step, " failed: ", text));
}

std::string Text(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

absl::StatusOr<std::string> ToPem(X509* certificate) {
  Memory memory(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(memory.get(), certificate) != 1) return Failed("writing the certificate");
  return Text(memory.get());
}

absl::StatusOr<std::string> ToPem(EVP_PKEY* key) {
  Memory memory(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return Failed("writing the key");
  }
  return Text(memory.get());
}

absl::StatusOr<Key> KeyFromPem(const std::string& pem) {
  Memory memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // A password callback that gives none: never ask on the terminal.
  const auto no_password = [](char*, int, int, void*) { return 0; };
  Key key(PEM_read_bio_PrivateKey(memory.get(), nullptr, no_password, nullptr));
  if (key == nullptr) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        "certificate: the private key is not PEM or is protected by a password");
  }
  return key;
}

absl::StatusOr<Certificate> CertificateFromPem(const std::string& pem) {
  Memory memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Certificate certificate(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) {
    ERR_clear_error();
    return absl::InvalidArgumentError("certificate: there is no certificate in the PEM");
  }
  return certificate;
}

absl::Status AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        absl::StrCat("certificate: ", OBJ_nid2ln(nid), " \"", value, "\" is not acceptable"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Certificate> NewCertificate(EVP_PKEY* key, const std::string& common_name,
                                           absl::Time not_before, absl::Time not_after) {
  Certificate certificate(X509_new());
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof serial) != 1) return Failed("making a serial number");
  serial[0] &= 0x7F;  // positive
  std::unique_ptr<BIGNUM, Deleter<BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get()));
  X509_set_version(certificate.get(), X509_VERSION_3);
  X509_set_pubkey(certificate.get(), key);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), absl::ToTimeT(not_before));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), absl::ToTimeT(not_after));
  X509_NAME* name = X509_get_subject_name(certificate.get());
  const auto* bytes = reinterpret_cast<const unsigned char*>(common_name.data());
  if (X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, bytes,
                                 static_cast<int>(common_name.size()), -1, 0) != 1) {
    return Failed("setting the name");
  }
  return certificate;
}

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

std::string NameText(const X509_NAME* name) {
  Memory memory(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(memory.get(), name, 0, XN_FLAG_RFC2253);
  return Text(memory.get());
}

void ReadNames(X509* certificate, CertificateFacts& facts) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_URI || name->type == GEN_DNS) {
      const std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.ia5)),
                             static_cast<size_t>(ASN1_STRING_length(name->d.ia5)));
      (name->type == GEN_URI ? facts.uris : facts.dns).push_back(text);
    } else if (name->type == GEN_IPADD) {
      Memory memory(BIO_new(BIO_s_mem()));
      GENERAL_NAME_print(memory.get(), const_cast<GENERAL_NAME*>(name));
      const std::string text = Text(memory.get());
      const size_t colon = text.find(':');
      facts.ips.push_back(colon == std::string::npos ? text : text.substr(colon + 1));
    }
  }
  GENERAL_NAMES_free(names);
}

std::string Fingerprint(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1) return "";
  std::vector<std::string> bytes;
  for (unsigned int i = 0; i < size; ++i)
    bytes.push_back(absl::StrCat(absl::Hex(digest[i], absl::kZeroPad2)));
  return absl::StrJoin(bytes, ":");
}

struct Authority {
  Certificate certificate;
  Key key;
};

absl::StatusOr<Authority> ReadAuthority(const KeyPair& pair) {
  absl::StatusOr<Certificate> certificate = CertificateFromPem(pair.certificate);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<Key> key = KeyFromPem(pair.key);
  if (!key.ok()) return key.status();
  if (X509_check_private_key(certificate->get(), key->get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        "certificate: the authority's key does not belong to its certificate");
  }
  if (X509_check_ca(certificate->get()) <= 0) {
    return absl::InvalidArgumentError("certificate: is no authority's, it may not sign others");
  }
  return Authority{*std::move(certificate), *std::move(key)};
}

absl::Status CheckEnd(const Authority& authority, absl::Time not_after) {
  const absl::Time last = ToTime(X509_get0_notAfter(authority.certificate.get()));
  if (not_after <= last) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "certificate: would be valid until ",
      absl::FormatTime("%Y-%m-%d", not_after, absl::UTCTimeZone()), ", after its authority's end ",
      absl::FormatTime("%Y-%m-%d", last, absl::UTCTimeZone()), "; give fewer --days"));
}

absl::Status Seal(X509* certificate, X509* issuer, EVP_PKEY* issuer_key,
                  const std::vector<std::pair<int, std::string>>& extensions) {
  for (const auto& [nid, value] : extensions) {
    if (absl::Status status = AddExtension(certificate, issuer, nid, value); !status.ok())
      return status;
  }
  if (X509_sign(certificate, issuer_key, EVP_sha256()) == 0)
    return Failed("signing the certificate");
  return absl::OkStatus();
}

absl::StatusOr<KeyPair> Pair(X509* certificate, EVP_PKEY* key) {
  absl::StatusOr<std::string> certificate_pem = ToPem(certificate), key_pem = ToPem(key);
  if (!certificate_pem.ok()) return certificate_pem.status();
  if (!key_pem.ok()) return key_pem.status();
  return KeyPair{*certificate_pem, *key_pem};
}

// A leaf for this key, private or public.
absl::StatusOr<Certificate> Signed(const Authority& issuer, const Subject& subject, EVP_PKEY* key) {
  if (absl::Status status = CheckEnd(issuer, subject.not_after); !status.ok()) return status;
  absl::StatusOr<Certificate> certificate =
      NewCertificate(key, subject.common_name, subject.not_before, subject.not_after);
  if (!certificate.ok()) return certificate.status();
  X509_set_issuer_name(certificate->get(), X509_get_subject_name(issuer.certificate.get()));
  std::vector<std::string> names;
  for (const std::string& uri : subject.uris) names.push_back(absl::StrCat("URI:", uri));
  for (const std::string& dns : subject.dns) names.push_back(absl::StrCat("DNS:", dns));
  for (const std::string& ip : subject.ips) names.push_back(absl::StrCat("IP:", ip));
  std::vector<std::pair<int, std::string>> extensions = {
      {NID_basic_constraints, "critical,CA:FALSE"},
      {NID_key_usage, "critical,digitalSignature"},
      {NID_ext_key_usage, subject.server ? "serverAuth,clientAuth" : "clientAuth"},
      {NID_subject_key_identifier, "hash"},
      {NID_authority_key_identifier, "keyid"}};
  if (!names.empty()) extensions.emplace_back(NID_subject_alt_name, absl::StrJoin(names, ","));
  const absl::Status sealed =
      Seal(certificate->get(), issuer.certificate.get(), issuer.key.get(), extensions);
  if (!sealed.ok()) return sealed;
  return certificate;
}

}  // namespace

absl::StatusOr<KeyPair> MakeAuthority(const std::string& common_name, absl::Time not_before,
                                      absl::Time not_after) {
  Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("making a key");
  absl::StatusOr<Certificate> certificate =
      NewCertificate(key.get(), common_name, not_before, not_after);
  if (!certificate.ok()) return certificate.status();
  X509* x509 = certificate->get();
  X509_set_issuer_name(x509, X509_get_subject_name(x509));
  const absl::Status sealed = Seal(x509, x509, key.get(),
                                   {{NID_basic_constraints, "critical,CA:TRUE,pathlen:1"},
                                    {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                    {NID_subject_key_identifier, "hash"}});
  if (!sealed.ok()) return sealed;
  return Pair(x509, key.get());
}

absl::StatusOr<KeyPair> MakeIssuing(const KeyPair& root, const std::string& common_name,
                                    absl::Time not_before, absl::Time not_after) {
  absl::StatusOr<Authority> issuer = ReadAuthority(root);
  if (!issuer.ok()) return issuer.status();
  const long depth = X509_get_pathlen(issuer->certificate.get());
  if (depth == 0) {
    return absl::InvalidArgumentError(
        "certificate: the authority may not sign other authorities (its path length is 0); let it "
        "issue itself, or make a new one");
  }
  if (absl::Status status = CheckEnd(*issuer, not_after); !status.ok()) return status;
  Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("making a key");
  absl::StatusOr<Certificate> certificate =
      NewCertificate(key.get(), common_name, not_before, not_after);
  if (!certificate.ok()) return certificate.status();
  X509* x509 = certificate->get();
  X509_set_issuer_name(x509, X509_get_subject_name(issuer->certificate.get()));
  const absl::Status sealed = Seal(x509, issuer->certificate.get(), issuer->key.get(),
                                   {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                    {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                    // telltale://node/..., by the host part (RFC 5280, 4.2.1.10).
                                    {NID_name_constraints, "critical,permitted;URI:node"},
                                    {NID_ext_key_usage, "clientAuth"},
                                    {NID_subject_key_identifier, "hash"},
                                    {NID_authority_key_identifier, "keyid"}});
  if (!sealed.ok()) return sealed;
  return Pair(x509, key.get());
}

absl::StatusOr<KeyPair> Issue(const KeyPair& authority, const Subject& subject) {
  absl::StatusOr<Authority> issuer = ReadAuthority(authority);
  if (!issuer.ok()) return issuer.status();
  Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("making a key");
  absl::StatusOr<Certificate> certificate = Signed(*issuer, subject, key.get());
  if (!certificate.ok()) return certificate.status();
  return Pair(certificate->get(), key.get());
}

absl::StatusOr<std::string> Certify(const KeyPair& authority, const Subject& subject,
                                    const std::string& public_key_der) {
  absl::StatusOr<Authority> issuer = ReadAuthority(authority);
  if (!issuer.ok()) return issuer.status();
  const auto* bytes = reinterpret_cast<const unsigned char*>(public_key_der.data());
  const Key key(d2i_PUBKEY(nullptr, &bytes, static_cast<long>(public_key_der.size())));
  if (key == nullptr) return Failed("reading the public key");
  absl::StatusOr<Certificate> certificate = Signed(*issuer, subject, key.get());
  if (!certificate.ok()) return certificate.status();
  return ToPem(certificate->get());
}

absl::StatusOr<std::vector<CertificateFacts>> ReadCertificates(const std::string& pem) {
  Memory memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<CertificateFacts> all;
  while (true) {
    Certificate certificate(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
    if (certificate == nullptr) break;
    CertificateFacts& facts = all.emplace_back();
    facts.subject = NameText(X509_get_subject_name(certificate.get()));
    facts.issuer = NameText(X509_get_issuer_name(certificate.get()));
    std::unique_ptr<BIGNUM, Deleter<BN_free>> serial(
        ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate.get()), nullptr));
    char* hex = BN_bn2hex(serial.get());
    facts.serial = hex;
    OPENSSL_free(hex);
    facts.not_before = ToTime(X509_get0_notBefore(certificate.get()));
    facts.not_after = ToTime(X509_get0_notAfter(certificate.get()));
    facts.authority = X509_check_ca(certificate.get()) > 0;
    facts.sha256 = Fingerprint(certificate.get());
    ReadNames(certificate.get(), facts);
  }
  ERR_clear_error();
  if (all.empty()) return absl::InvalidArgumentError("there is no PEM certificate in it");
  return all;
}

absl::StatusOr<bool> KeyFits(const std::string& certificate_pem, const std::string& key_pem) {
  absl::StatusOr<Certificate> certificate = CertificateFromPem(certificate_pem);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<Key> key = KeyFromPem(key_pem);
  if (!key.ok()) return key.status();
  const bool fits = X509_check_private_key(certificate->get(), key->get()) == 1;
  ERR_clear_error();
  return fits;
}

}  // namespace telltale::pki
