#include "tests/support/web_pki.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace telltale::testing {
namespace {

void Require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "web_pki: %s failed\n", what);
  std::abort();
}

template <typename Write>
void WriteFile(const std::string& path, Write write) {
  const std::string temporary = path + ".new";
  FILE* file = std::fopen(temporary.c_str(), "w");
  Require(file != nullptr, temporary.c_str());
  Require(write(file) == 1, "writing PEM");
  std::fclose(file);
  std::filesystem::rename(temporary, path);
}

void WriteKey(const std::string& path, EVP_PKEY* key) {
  WriteFile(path, [&](FILE* file) {
    return PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

void Extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  Require(extension != nullptr, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Unsigned: the caller adds extensions and signs.
X509* Blank(const std::string& name, long serial, EVP_PKEY* key) {
  X509* certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

}  // namespace

WebPki::WebPki() {
  std::string pattern = (std::filesystem::temp_directory_path() / "telltale-pki-XXXXXX").string();
  Require(mkdtemp(pattern.data()) != nullptr, "mkdtemp");
  dir_ = pattern;
  key_.reset(EVP_EC_gen("P-256"));
  ca_.reset(Blank("test CA", serial_++, key_.get()));
  X509_set_issuer_name(ca_.get(), X509_get_subject_name(ca_.get()));
  Extend(ca_.get(), ca_.get(), NID_basic_constraints, "critical,CA:TRUE");
  Extend(ca_.get(), ca_.get(), NID_subject_key_identifier, "hash");
  Require(X509_sign(ca_.get(), key_.get(), EVP_sha256()) > 0, "signing the CA");
  WriteFile(ca_file(), [&](FILE* file) { return PEM_write_X509(file, ca_.get()); });
}

WebPki::~WebPki() { std::filesystem::remove_all(dir_); }

CertificateFiles WebPki::Issue(const std::string& name,
                               const std::vector<std::string>& uris) const {
  const std::unique_ptr<EVP_PKEY, Free> key(EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, Free> certificate(Blank(name, serial_++, key.get()));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(ca_.get()));
  std::string names = "IP:127.0.0.1";
  for (const std::string& uri : uris) names += ",URI:" + uri;
  Extend(certificate.get(), ca_.get(), NID_subject_alt_name, names);
  Require(X509_sign(certificate.get(), key_.get(), EVP_sha256()) > 0, "signing");
  const CertificateFiles files{dir_ + "/" + name + ".crt", dir_ + "/" + name + ".key"};
  WriteKey(files.key, key.get());
  WriteFile(files.cert, [&](FILE* file) { return PEM_write_X509(file, certificate.get()); });
  return files;
}

}  // namespace telltale::testing
