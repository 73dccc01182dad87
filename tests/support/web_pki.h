// A throw-away certificate authority for tests of the HTTPS side: EC P-256, files in a directory of
// its own.

#ifndef TELLTALE_TESTS_SUPPORT_WEB_PKI_H_
#define TELLTALE_TESTS_SUPPORT_WEB_PKI_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

namespace telltale::testing {

struct CertificateFiles {
  std::string cert;
  std::string key;
};

class WebPki {
 public:
  WebPki();   // makes the CA; ends the test on an error
  ~WebPki();  // removes the directory
  WebPki(const WebPki&) = delete;
  WebPki& operator=(const WebPki&) = delete;

  std::string ca_file() const { return dir_ + "/ca.crt"; }
  const std::string& dir() const { return dir_; }

  // `uris`: URI subject alternative names; also good for the server name 127.0.0.1. Files NAME.crt,
  // NAME.key are replaced by rename, so that a server never reads half of one.
  CertificateFiles Issue(const std::string& name, const std::vector<std::string>& uris) const;

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
  };
  std::string dir_;
  std::unique_ptr<EVP_PKEY, Free> key_;
  std::unique_ptr<X509, Free> ca_;
  mutable long serial_ = 1;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_WEB_PKI_H_
