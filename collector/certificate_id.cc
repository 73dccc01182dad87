#include "collector/certificate_id.h"

#include <openssl/bn.h>

#include "absl/strings/str_cat.h"

namespace telltale::collector {
namespace {

std::string SerialText(const ASN1_INTEGER* serial) {
  BIGNUM* number = ASN1_INTEGER_to_BN(serial, nullptr);
  if (number == nullptr) return "";
  char* hex = BN_bn2hex(number);
  std::string text = hex == nullptr ? "" : hex;
  OPENSSL_free(hex);
  BN_free(number);
  return text;
}

}  // namespace

std::string NameBytes(const X509_NAME* name) {
  unsigned char* der = nullptr;
  const int length = i2d_X509_NAME(name, &der);
  if (length <= 0) return "";
  std::string bytes(reinterpret_cast<char*>(der), static_cast<size_t>(length));
  OPENSSL_free(der);
  return bytes;
}

std::string CertificateId(const X509_NAME* issuer, const ASN1_INTEGER* serial) {
  return absl::StrCat(SerialText(serial), "/", NameBytes(issuer));
}

std::string CertificateId(const X509* certificate) {
  return CertificateId(X509_get_issuer_name(certificate), X509_get0_serialNumber(certificate));
}

std::string SerialOf(const std::string& id) { return id.substr(0, id.find('/')); }
std::string IssuerOf(const std::string& id) { return id.substr(id.find('/') + 1); }

}  // namespace telltale::collector
