#include "tests/support/pki.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace telltale::testing {
namespace {

constexpr long kDay = 86400;

// A test cannot go on without its certificates.
void Require(bool good, const char* step) {
  if (good) return;
  std::fprintf(stderr, "pki: %s failed\n", step);
  std::abort();
}

EVP_PKEY* NewKey() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  Require(key != nullptr, "making a key");
  return key;
}

X509* NewCertificate(const std::string& name, int64_t serial, int days, EVP_PKEY* key) {
  X509* certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), days < 0 ? (days - 1) * kDay : -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), days * kDay);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

void AddExtension(X509* certificate, int id, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
  Require(extension != nullptr, "making an extension");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

template <typename Write>
void WriteFile(const std::string& file, Write write) {
  const std::string temporary = file + ".new";
  FILE* stream = std::fopen(temporary.c_str(), "w");
  Require(stream != nullptr && write(stream) == 1 && std::fclose(stream) == 0, "writing a file");
  chmod(temporary.c_str(), 0600);
  Require(std::rename(temporary.c_str(), file.c_str()) == 0, "renaming a file");
}

}  // namespace

Pki::Pki(std::string directory, const std::string& name)
    : directory_(std::move(directory)), name_(name), ca_file_(directory_ + "/" + name + ".crt") {
  key_ = NewKey();
  certificate_ = NewCertificate(name, 1, 100, key_);
  X509_set_issuer_name(certificate_, X509_get_subject_name(certificate_));
  AddExtension(certificate_, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate_, NID_key_usage, "critical,keyCertSign,cRLSign");
  Require(X509_sign(certificate_, key_, EVP_sha256()) > 0, "signing");
  WriteFile(ca_file_, [this](FILE* stream) { return PEM_write_X509(stream, certificate_); });
}

Pki::~Pki() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

IssuedFiles Pki::Issue(const std::string& name, const std::string& names, int days) {
  IssuedFiles files = {.cert = directory_ + "/" + name + ".crt",
                       .key = directory_ + "/" + name + ".key",
                       .serial = next_serial_++};
  EVP_PKEY* key = NewKey();
  X509* certificate = NewCertificate(name, files.serial, days, key);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate_));
  if (!names.empty()) AddExtension(certificate, NID_subject_alt_name, names);
  Require(X509_sign(certificate, key_, EVP_sha256()) > 0, "signing");
  WriteFile(files.key, [key](FILE* stream) {
    return PEM_write_PrivateKey(stream, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
  WriteFile(files.cert, [=](FILE* stream) { return PEM_write_X509(stream, certificate); });
  X509_free(certificate);
  EVP_PKEY_free(key);
  return files;
}

std::string Pki::Revoke(const std::vector<IssuedFiles>& revoked, long good_for_s) {
  X509_CRL* crl = X509_CRL_new();
  X509_CRL_set_version(crl, 1);
  X509_CRL_set_issuer_name(crl, X509_get_subject_name(certificate_));
  ASN1_TIME* now = X509_gmtime_adj(nullptr, 0);
  ASN1_TIME* later = X509_gmtime_adj(nullptr, good_for_s);
  X509_CRL_set1_lastUpdate(crl, now);
  X509_CRL_set1_nextUpdate(crl, later);
  for (const IssuedFiles& files : revoked) {
    X509_REVOKED* entry = X509_REVOKED_new();
    ASN1_INTEGER* serial = ASN1_INTEGER_new();
    ASN1_INTEGER_set_int64(serial, files.serial);
    X509_REVOKED_set_serialNumber(entry, serial);
    X509_REVOKED_set_revocationDate(entry, now);
    ASN1_INTEGER_free(serial);
    X509_CRL_add0_revoked(crl, entry);
  }
  X509_CRL_sort(crl);
  Require(X509_CRL_sign(crl, key_, EVP_sha256()) > 0, "signing");
  const std::string file = directory_ + "/" + name_ + ".crl";
  WriteFile(file, [crl](FILE* stream) { return PEM_write_X509_CRL(stream, crl); });
  ASN1_TIME_free(now);
  ASN1_TIME_free(later);
  X509_CRL_free(crl);
  return file;
}

}  // namespace telltale::testing
