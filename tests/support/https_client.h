// A small blocking HTTPS client for tests: one TLS connection, raw bytes in and out, and whole
// requests on top.

#ifndef TELLTALE_TESTS_SUPPORT_HTTPS_CLIENT_H_
#define TELLTALE_TESTS_SUPPORT_HTTPS_CLIENT_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tests/support/web_pki.h"

namespace telltale::testing {

struct HttpReply {
  int status = 0;  // 0: no answer (connection refused, cut, or TLS failed)
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  bool complete = false;  // the body ended as its framing says
};

class HttpsClient {
 public:
  struct Options {
    uint16_t port = 0;
    std::string ca_file;
    std::optional<IssuedFiles> client;  // certificate to show
    int max_tls_version = 0;            // 0: newest
    bool http2 = false;                 // offered instead of HTTP/1.1; nothing more is done for it
  };
  // Connects and shakes hands; ok() tells whether that worked.
  explicit HttpsClient(const Options& options);
  ~HttpsClient();
  HttpsClient(const HttpsClient&) = delete;
  HttpsClient& operator=(const HttpsClient&) = delete;

  bool ok() const { return ok_; }
  long server_serial() const;  // of the certificate the server showed

  void Send(const std::string& bytes);  // not ok() any more if the peer has closed
  HttpReply Read();  // one whole reply; the connection stays open if it is kept alive
  // Header first, then a chunk per call: for event streams. Empty: ended.
  HttpReply ReadHeader();
  std::string ReadChunk();
  bool Closed();  // waits until the peer has closed

  HttpReply Get(const std::string& target, const std::string& headers = "");
  HttpReply Post(const std::string& target, const std::string& type, const std::string& body);

 private:
  bool Fill();  // reads more; false at the end
  std::optional<std::string> Take(size_t bytes);
  std::optional<std::string> TakeLine();

  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  int socket_ = -1;
  bool ok_ = false;
  std::string pending_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_HTTPS_CLIENT_H_
