// One HTTPS listener: TLS 1.3, HTTP/1.1, keep-alive, every size and every wait bounded. It knows
// nothing of routes: one handler (router.h) gets each request.
//
// Start and Stop are called by the owner (main), once each. One I/O thread does all socket work;
// handlers run on a few worker threads and may block there, body streams and what is answered
// quickly on one of their own, so that neither waits for long answers. Of one asker a worker fewer
// is busy than there are: who asks much does not keep the others waiting.
//
// At the bounds: a connection above `max_connections`, or above `max_connections_per_address` from
// one address, or that comes too soon after others of its address, is closed at once; a request
// line, header or body above its limit gets 431 or 413, one that could be read in two ways 400
// (request_head.h); whoever is too slow to send a request or to take an answer is disconnected.
// Each is counted by its reason (http_stats.h).

#ifndef TELLTALE_COLLECTOR_WEB_HTTP_SERVER_H_
#define TELLTALE_COLLECTOR_WEB_HTTP_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/access/address_limits.h"
#include "collector/certificate_id.h"
#include "collector/web/http_stats.h"
#include "collector/web/http_types.h"

namespace telltale::web {

struct HttpServerOptions {
  std::string address = "0.0.0.0";
  uint16_t port = 7480;  // 0: any free one, see HttpServer::port()
  std::string ca_file;   // who signs clients
  std::string cert_file;
  std::string key_file;
  Handler handler;
  // What is answered by the I/O thread, so at once whatever else goes on, to whoever asks and
  // however often; it must not block. Without an answer, or if empty: the handler is asked.
  std::function<std::optional<Response>(const std::string& method, const std::string& path)>
      at_once;
  // Whether a path takes the handler no time to speak of. Empty: none does.
  std::function<bool(const std::string& path)> quick;
  // Whether a certificate that its authority vouches for is still good, by the ids of it and of its
  // chain; asked for each request, so that open connections end too. Any thread. Empty: all are.
  std::function<absl::Status(const collector::CertificateIds& certificates)> check_certificate;
  // Whom a bearer token stands for, or Unauthenticated; any thread. Empty: no tokens are taken.
  std::function<absl::StatusOr<collector::Identity>(std::string_view token,
                                                    const std::string& address)>
      check_token;
  // Whether one that was good is so yet, which counts as no use; any thread. Asked while a stream
  // is open. Empty: it is.
  std::function<absl::Status(std::string_view token)> token_stands;
  // One line about what went wrong (a reload that failed ...), any thread. May be empty.
  std::function<void(const std::string&)> log;

  int worker_threads = 2;  // of one asker; there is one more
  size_t max_connections = 1024;
  size_t max_connections_per_address = 128;
  access::AddressLimits::Options connection_rate{.per_second = 50, .at_once = 500};
  // Requests without a certificate or a good token.
  access::AddressLimits::Options anonymous_rate{.per_second = 20, .at_once = 200};
  uint32_t max_header_bytes = 16 * 1024;  // request line and headers together
  uint64_t max_body_bytes = 1024 * 1024;
  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds request_timeout{10'000};  // first to last byte of a request
  std::chrono::milliseconds idle_timeout{60'000};     // between requests
  std::chrono::milliseconds write_timeout{30'000};    // for each piece of an answer
  std::chrono::milliseconds heartbeat{15'000};        // of silent live streams
  std::chrono::milliseconds max_connection_age{3'600'000};
  std::chrono::milliseconds reload_interval{1'000};  // certificate files are looked at this often
  std::chrono::milliseconds stop_grace{5'000};       // running answers may finish in it
};

class HttpServer {
 public:
  // Binds, loads the certificates and begins to serve. Errors name address and port, or the file.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpServerOptions options);

  ~HttpServer();  // Stop()
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Accepts no more, ends live streams and idle connections, lets running answers finish within
  // stop_grace, then cuts them. Returns when all threads have ended. Twice is safe.
  void Stop();

  uint16_t port() const;
  const HttpStats& stats() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_HTTP_SERVER_H_
