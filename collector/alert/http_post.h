// One POST of JSON to a web server, over TLS where its address says so: connected, sent, answered
// and closed within a time.
//
// Blocks the calling thread; any thread, several at a time.

#ifndef TELLTALE_COLLECTOR_ALERT_HTTP_POST_H_
#define TELLTALE_COLLECTOR_ALERT_HTTP_POST_H_

#include <atomic>
#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "collector/alert/name_lookup.h"
#include "collector/alert/web_address.h"

namespace telltale::alert {

struct ClientTls {
  std::string ca;    // PEM: who may sign the server's certificate; empty: the system's authorities
  std::string cert;  // PEM: ours; empty: none is shown
  std::string key;   // PEM
};

// Whether these files are there and fit each other; FailedPrecondition names the one that does not.
absl::Status CheckTls(const ClientTls& tls);

// Certificates are read anew at each call, so that replaced ones are in use; `names`: may be asked
// by several calls at a time. OK: answered with 2xx. Errors say which step failed: Unavailable
// (name, connection, TLS, a cut), DeadlineExceeded, Cancelled (`stop` was set), FailedPrecondition
// (a certificate file of ours), Internal (another answer than 2xx, with how it begins).
absl::Status PostJson(NameLookups& names, const WebAddress& to, const std::string& path,
                      const ClientTls& tls, const std::string& body,
                      std::chrono::milliseconds timeout, const std::atomic<bool>& stop);

}  // namespace telltale::alert

#endif  // TELLTALE_COLLECTOR_ALERT_HTTP_POST_H_
