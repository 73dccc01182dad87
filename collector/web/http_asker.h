// Who asks on one HTTPS connection: the certificate of its handshake, or the token of a request,
// which takes its place. Private to the web server.
//
// Made and given the certificate by the session; the rest is called from any thread.

#ifndef TELLTALE_COLLECTOR_WEB_HTTP_ASKER_H_
#define TELLTALE_COLLECTOR_WEB_HTTP_ASKER_H_

#include <openssl/x509.h>

#include <boost/beast/http/fields.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "collector/certificate_id.h"
#include "collector/identity.h"
#include "collector/web/http_server.h"

namespace telltale::web {

class HttpAsker {
 public:
  using Fields = boost::beast::http::fields;

  // Of one request.
  struct Who {
    std::optional<collector::Identity> peer;
    std::string problem;  // why what was shown gives none
    std::string token;    // that stands for the peer; empty: its certificate does
    bool bad_token = false;

    // Nobody, or a node, which asks nothing.
    bool reader() const { return peer.has_value() && peer->role != collector::Role::kNode; }
  };

  // `options` outlive it.
  HttpAsker(const HttpServerOptions& options, std::string address);
  // What the handshake has verified: the certificate, those it rests on.
  void SetCertificate(const STACK_OF(X509) * chain);

  const std::string& address() const { return address_; }
  // Whether the certificate alone tells that a reader asks. Cheap; false where a token is shown.
  bool Known(const Fields& head) const;
  // Looks the token up, if there is one.
  Who Find(const Fields& head) const;
  // Whether what told who asks is good yet; Unauthenticated if not.
  absl::Status MayStill(const Who& who) const;
  // Whose requests wait for each other; looked up nowhere, so it may be a wrong token's.
  std::string Name(const Fields& head) const;

 private:
  absl::Status CheckCertificate() const;

  const HttpServerOptions& options_;
  const std::string address_;
  collector::CertificateIds certificates_;   // ids of the one that was shown, if any, and its chain
  std::optional<collector::Identity> peer_;  // whom it names
  std::string peer_problem_;
};

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_HTTP_ASKER_H_
