// The HTTPS side's TLS settings: TLS 1.3 only, a client certificate asked for but not required, and
// a new context whenever a file on disk changed. Connections keep the context they began with; the
// server's bounded connection age makes them come back under the new one.
//
// Owned and called by the server's one I/O thread.

#ifndef TELLTALE_COLLECTOR_WEB_TLS_CONTEXT_H_
#define TELLTALE_COLLECTOR_WEB_TLS_CONTEXT_H_

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace telltale::web {

struct TlsFiles {
  std::string ca;    // PEM: who may sign client certificates
  std::string cert;  // PEM: ours, then intermediates
  std::string key;   // PEM
};

class TlsContext {
 public:
  using Context = boost::asio::ssl::context;

  // InvalidArgument names the file and what OpenSSL said of it.
  static absl::StatusOr<std::unique_ptr<TlsContext>> Load(TlsFiles files);

  // Never null.
  std::shared_ptr<Context> current() const { return current_; }

  // Looks whether a file changed since the last successful load and loads if so. True: a new
  // context is in use. An error leaves the old one in use, and the next call tries again, so files
  // may be replaced one by one.
  absl::StatusOr<bool> ReloadIfChanged();

 private:
  explicit TlsContext(TlsFiles files) : files_(std::move(files)) {}
  std::string Fingerprint() const;  // of the files' metadata

  const TlsFiles files_;
  std::string loaded_;  // fingerprint of what `current_` was made from
  std::shared_ptr<Context> current_;
};

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_TLS_CONTEXT_H_
