#include "collector/alert/http_post.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <exception>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"

namespace telltale::alert {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using net::ip::tcp;

constexpr std::chrono::milliseconds kLook{50};
constexpr size_t kMaxAnswerBytes = 64 * 1024, kShownBytes = 200;

struct Exchange {
  const WebAddress& to;
  const std::string& path;
  const std::string& body;
  const std::vector<tcp::endpoint>& endpoints;
  const char* step = "connection";
  std::optional<absl::Status> result;
};

absl::Status Judge(const http::response<http::string_body>& answer) {
  const unsigned code = answer.result_int();
  if (code >= 200 && code < 300) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("answered ", code, ": ",
                   proto::SanitizeText(answer.body().substr(0, kShownBytes), kShownBytes)));
}

template <typename Stream>
net::awaitable<absl::Status> Talk(Stream& stream, Exchange& exchange) {
  http::request<http::string_body> request(http::verb::post, exchange.to.path + exchange.path, 11);
  const bool v6 = exchange.to.host.find(':') != std::string::npos;
  request.set(http::field::host,
              absl::StrCat(v6 ? "[" : "", exchange.to.host, v6 ? "]" : "", ":", exchange.to.port));
  request.set(http::field::user_agent, "telltale-collector");
  request.set(http::field::content_type, "application/json");
  request.keep_alive(false);
  request.body() = exchange.body;
  request.prepare_payload();
  exchange.step = "sending";
  co_await http::async_write(stream, request, net::use_awaitable);
  exchange.step = "answer";
  beast::flat_buffer buffer(kMaxAnswerBytes);
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMaxAnswerBytes);
  co_await http::async_read(stream, buffer, parser, net::use_awaitable);
  co_return Judge(parser.get());
}

net::awaitable<void> Post(Exchange& exchange, net::ssl::context& context) {
  try {
    const auto executor = co_await net::this_coro::executor;
    if (!exchange.to.tls) {
      tcp::socket socket(executor);
      co_await net::async_connect(socket, exchange.endpoints, net::use_awaitable);
      exchange.result = co_await Talk(socket, exchange);
      co_return;
    }
    net::ssl::stream<tcp::socket> stream(executor, context);
    co_await net::async_connect(stream.next_layer(), exchange.endpoints, net::use_awaitable);
    exchange.step = "TLS";
    SSL_set_tlsext_host_name(stream.native_handle(), exchange.to.host.c_str());
    stream.set_verify_callback(net::ssl::rfc2818_verification(exchange.to.host));
    co_await stream.async_handshake(net::ssl::stream_base::client, net::use_awaitable);
    // What is asked and answered is whole by its framing: the end of TLS is not waited for.
    exchange.result = co_await Talk(stream, exchange);
  } catch (const std::exception& problem) {
    exchange.result = absl::UnavailableError(absl::StrCat(exchange.step, ": ", problem.what()));
  }
}

absl::Status Prepare(const ClientTls& tls, net::ssl::context& context) {
  const char* step = "";
  try {
    context.set_options(net::ssl::context::no_sslv2 | net::ssl::context::no_sslv3 |
                        net::ssl::context::no_tlsv1 | net::ssl::context::no_tlsv1_1);
    context.set_verify_mode(net::ssl::verify_peer);
    step = tls.ca.c_str();
    if (tls.ca.empty()) {
      context.set_default_verify_paths();
    } else {
      context.load_verify_file(tls.ca);
    }
    if (tls.cert.empty()) return absl::OkStatus();
    step = tls.cert.c_str();
    context.use_certificate_chain_file(tls.cert);
    step = tls.key.c_str();
    context.use_private_key_file(tls.key, net::ssl::context::pem);
    return absl::OkStatus();
  } catch (const std::exception& problem) {
    return absl::FailedPreconditionError(
        absl::StrCat("certificates: ", step, ": ", problem.what()));
  }
}

}  // namespace

absl::Status CheckTls(const ClientTls& tls) {
  net::ssl::context context(net::ssl::context::tls_client);
  return Prepare(tls, context);
}

absl::Status PostJson(NameLookups& names, const WebAddress& to, const std::string& path,
                      const ClientTls& tls, const std::string& body,
                      std::chrono::milliseconds timeout, const std::atomic<bool>& stop) {
  net::ssl::context context(net::ssl::context::tls_client);
  if (to.tls) {
    if (auto status = Prepare(tls, context); !status.ok()) return status;
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const auto late = [&](const char* step) {
    return absl::DeadlineExceededError(
        absl::StrCat(step, ": nothing within ", timeout.count(), " ms"));
  };
  // Not by Asio's resolver: an io_context waits for its lookups when it goes, however long they
  // take.
  const auto endpoints = names.LookUp(to.host, to.port, deadline, stop);
  if (absl::IsDeadlineExceeded(endpoints.status())) return late("name");
  if (absl::IsUnavailable(endpoints.status())) {
    return absl::UnavailableError(absl::StrCat("name: ", endpoints.status().message()));
  }
  if (!endpoints.ok()) return endpoints.status();
  Exchange exchange{
      .to = to, .path = path, .body = body, .endpoints = *endpoints, .result = std::nullopt};
  net::io_context io;
  net::co_spawn(io, Post(exchange, context), net::detached);
  while (!exchange.result.has_value()) {
    if (stop) return absl::CancelledError("stopping");
    if (std::chrono::steady_clock::now() >= deadline) return late(exchange.step);
    io.run_for(kLook);
  }
  return *exchange.result;
}

}  // namespace telltale::alert
