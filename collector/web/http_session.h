// One HTTPS connection from handshake to close. Private to the web server.
//
// Everything runs on the server's I/O thread except the handler and the body stream, which run on
// the worker pool while the connection waits for them. The coroutine `Run` keeps the session alive.

#ifndef TELLTALE_COLLECTOR_WEB_HTTP_SESSION_H_
#define TELLTALE_COLLECTOR_WEB_HTTP_SESSION_H_

#include <utility>  // awaitable.hpp of Boost 1.74 needs it and does not say so

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "collector/web/http_server.h"
#include "collector/web/http_types.h"

namespace telltale::web {

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  // What is given by reference outlives the session.
  HttpSession(boost::asio::ip::tcp::socket socket,
              std::shared_ptr<boost::asio::ssl::context> context, const HttpServerOptions& options,
              HttpStats& stats, boost::asio::thread_pool& pool,
              access::AddressLimits& anonymous_rate, std::string address);

  // Serves until the peer, a limit or Finish ends it. Never throws.
  boost::asio::awaitable<void> Run();

  void Finish();  // end after the answer that is being sent, at once if there is none
  void Cut();     // end now

 private:
  using Stream = boost::beast::ssl_stream<boost::beast::tcp_stream>;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Clock = std::chrono::steady_clock;
  struct Wake;  // shared with a live stream, which may outlive a wait but not the session's
                // interest

  boost::asio::awaitable<bool> Handshake();
  // False: nothing more to read, or the problem was answered; the connection ends.
  boost::asio::awaitable<bool> ReadRequest(std::optional<Parser>& parser);
  boost::asio::awaitable<bool> Answer(Parser& parser);
  boost::asio::awaitable<bool> Send(Response& response, bool head, unsigned version,
                                    bool keep_alive);
  boost::asio::awaitable<bool> SendStream(BodyStream& body, bool chunked);
  boost::asio::awaitable<bool> WaitForWake(Wake& wake);
  // Until the head of a request is in the buffer and can be read in one way only; else as above.
  boost::asio::awaitable<bool> ReadHead();
  boost::asio::awaitable<bool> Refuse(Refusal refusal, int status, std::string_view message);
  boost::asio::awaitable<bool> Write(std::string_view piece, bool chunked, bool last);

  Response Handle(const Parser& parser);  // on a worker
  // Who the request's token stands for takes the place of who the connection's certificate does.
  void Authenticate(const Parser& parser, Request& request);
  void CountFailure(const boost::system::error_code& error);
  bool Old() const { return Clock::now() - began_ > options_.max_connection_age; }

  const HttpServerOptions& options_;
  HttpStats& stats_;
  boost::asio::thread_pool& pool_;
  const std::shared_ptr<boost::asio::ssl::context> context_;
  Stream stream_;
  boost::beast::flat_buffer buffer_;
  const Clock::time_point began_;
  struct FreeCertificate {
    void operator()(X509* certificate) const { X509_free(certificate); }
  };
  std::unique_ptr<X509, FreeCertificate> certificate_;  // that was shown, if any
  std::optional<collector::Identity> peer_;
  std::string peer_problem_;
  const std::shared_ptr<std::atomic<bool>> cancelled_;
  std::shared_ptr<Wake> wake_;
  access::AddressLimits& anonymous_rate_;
  const std::string address_;
  bool bad_token_ = false;  // of the request being answered
  bool finishing_ = false;
  bool idle_ = true;  // no request begun
};

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_HTTP_SESSION_H_
