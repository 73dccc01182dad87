// A throw-away authority for tests: EC P-256 certificates with URI names as Telltale's roles have
// them. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_PKI_H_
#define TELLTALE_TESTS_SUPPORT_PKI_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

namespace telltale::testing {

struct IssuedFiles {
  std::string cert;
  std::string key;
  int64_t serial = 0;
};

class Pki {
 public:
  // Makes the authority and writes DIRECTORY/NAME.crt.
  Pki(std::string directory, const std::string& name);
  ~Pki();
  Pki(const Pki&) = delete;
  Pki& operator=(const Pki&) = delete;

  const std::string& ca() const { return ca_file_; }
  // Writes NAME.crt and NAME.key. `names` as OpenSSL spells them:
  // "URI:telltale://node/a,DNS:localhost". `days`: until it ends; negative: it has ended.
  IssuedFiles Issue(const std::string& name, const std::string& names, int days = 10);
  // Writes, by rename, a list that revokes these; returns its file. `good_for_s`: until its next is
  // due; negative: that is past.
  std::string Revoke(const std::vector<IssuedFiles>& revoked, long good_for_s = 10 * 86400);

 private:
  const std::string directory_;
  const std::string name_;
  std::string ca_file_;
  EVP_PKEY* key_ = nullptr;
  X509* certificate_ = nullptr;
  int64_t next_serial_ = 1000;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_PKI_H_
