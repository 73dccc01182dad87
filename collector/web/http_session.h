// One HTTPS connection from handshake to close. Private to the web server.
//
// Everything runs on the server's I/O thread except the handler and the body stream, which run on
// the worker pools while the connection waits for them. The coroutine `Run` keeps the session
// alive.

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

#include "collector/web/http_asker.h"
#include "collector/web/http_server.h"
#include "collector/web/http_types.h"
#include "collector/web/turns.h"

namespace telltale::web {

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  // What all sessions of a server share; outlives them.
  struct Server {
    const HttpServerOptions& options;
    HttpStats& stats;
    boost::asio::thread_pool& pool;
    boost::asio::thread_pool& quick_pool;  // of streams and of what options.quick says
    Turns& turns;                          // on the pool
    access::AddressLimits& anonymous_rate;
  };
  HttpSession(boost::asio::ip::tcp::socket socket,
              std::shared_ptr<boost::asio::ssl::context> context, const Server& server,
              std::string address);

  // Serves until the peer, a limit or Finish ends it. Never throws.
  boost::asio::awaitable<void> Run();

  void Finish();  // end after the answer that is being sent, at once if there is none
  void Cut();     // end now

 private:
  using Stream = boost::beast::ssl_stream<boost::beast::tcp_stream>;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Clock = std::chrono::steady_clock;
  // What a live stream wakes. It may be called from any thread for as long as the stream lives;
  // shared with it, which may outlive a wait but not the session's interest.
  struct Wake {
    explicit Wake(const boost::asio::any_io_executor& executor) : timer(executor) {}
    boost::asio::steady_timer timer;  // I/O thread only
    std::atomic<bool> pending{false};
  };

  boost::asio::awaitable<bool> Handshake();
  // False: nothing more to read, or the problem was answered; the connection ends. Of a request its
  // head is read first, the rest only for who may ask.
  boost::asio::awaitable<bool> ReadRequest(std::optional<Parser>& parser);
  boost::asio::awaitable<bool> Admit(const Parser& parser);
  boost::asio::awaitable<bool> ReadBody(Parser& parser);
  boost::asio::awaitable<bool> RefuseUnread(const boost::system::error_code& error);
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
  void FindAsker(const Parser& parser);   // on a worker; into who_, once for each request
  bool Open(const Parser& parser, bool may_stay) const;  // whether the connection stays open
  void CountFailure(const boost::system::error_code& error);
  bool Old() const { return Clock::now() - began_ > options_.max_connection_age; }

  const HttpServerOptions& options_;
  HttpStats& stats_;
  const Server server_;
  const std::shared_ptr<boost::asio::ssl::context> context_;
  Stream stream_;
  boost::beast::flat_buffer buffer_;
  const Clock::time_point began_;
  HttpAsker asker_;
  const std::shared_ptr<std::atomic<bool>> cancelled_;
  std::shared_ptr<Wake> wake_;
  // Of the request being answered.
  std::optional<HttpAsker::Who> who_;  // once it was looked up
  bool rate_taken_ = false;            // as of one whom nobody knows
  bool finishing_ = false;
  bool idle_ = true;  // no request begun
};

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_HTTP_SESSION_H_
