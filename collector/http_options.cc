#include "collector/http_options.h"

#include <chrono>

namespace telltale::collector {

web::HttpServerOptions HttpOptionsOf(const Config& config, const config::Address& listen) {
  web::HttpServerOptions http;
  http.address = listen.host.empty() ? "0.0.0.0" : listen.host;
  http.port = listen.port;
  http.ca_file = config.tls_ca;
  http.cert_file = config.tls_cert;
  http.key_file = config.tls_key;
  http.max_connection_age = std::chrono::seconds(config.ingest_connection_age_s);
  http.max_connections = config.http_connections;
  http.max_connections_per_address = config.http_connections_per_address;
  http.worker_threads = static_cast<int>(config.http_answers);
  http.max_header_bytes = static_cast<uint32_t>(config.http_header_bytes);
  http.max_body_bytes = config.http_body_bytes;
  http.handshake_timeout = std::chrono::seconds(config.http_handshake_s);
  http.request_timeout = std::chrono::seconds(config.http_request_s);
  http.idle_timeout = std::chrono::seconds(config.http_idle_s);
  http.write_timeout = std::chrono::seconds(config.http_write_s);
  return http;
}

}  // namespace telltale::collector
