#include "collector/web/http_server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "collector/access/address_limits.h"
#include "collector/web/http_session.h"
#include "collector/web/tls_context.h"
#include "collector/web/turns.h"

namespace telltale::web {
namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

class HttpServer::Impl {
 public:
  Impl(HttpServerOptions options, std::unique_ptr<TlsContext> tls)
      : options_(std::move(options)),
        tls_(std::move(tls)),
        connection_rate_(options_.connection_rate),
        anonymous_rate_(options_.anonymous_rate),
        pool_(Workers() + 1),
        quick_pool_(1),
        acceptor_(io_),
        reload_timer_(io_),
        stop_timer_(io_),
        turns_(Workers()) {}

  absl::Status Listen() {
    const std::string where = absl::StrCat(options_.address, ":", options_.port);
    error_code error;
    const auto address = net::ip::make_address(options_.address, error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat("https: address ", options_.address, " is not an IP address"));
    }
    const tcp::endpoint endpoint(address, options_.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    if (error) {
      return absl::UnavailableError(absl::StrCat("https: cannot listen on ", where, ": ",
                                                 error.message(),
                                                 "; set listen.https to a free address"));
    }
    port_ = acceptor_.local_endpoint().port();
    return absl::OkStatus();
  }

  void Run() {
    net::co_spawn(io_, Accept(), net::detached);
    net::co_spawn(io_, WatchFiles(), net::detached);
    thread_ = std::thread([this] { io_.run(); });
  }

  void Stop() {
    if (!thread_.joinable()) return;
    net::post(io_, [this] { BeginStop(); });
    thread_.join();
    pool_.join();
    quick_pool_.join();
  }

  uint16_t port() const { return port_; }
  const HttpStats& stats() const { return stats_; }

 private:
  size_t Workers() const { return static_cast<size_t>(std::max(options_.worker_threads, 1)); }

  net::awaitable<void> Accept() {
    while (!stopping_) {
      error_code error;
      tcp::socket socket =
          co_await acceptor_.async_accept(net::redirect_error(net::use_awaitable, error));
      if (stopping_) break;
      if (error) {
        stats_.Refuse(Refusal::kAccept);
        // Out of file descriptors or a connection that was already gone: wait a little, go on.
        net::steady_timer pause(io_, std::chrono::milliseconds(50));
        co_await pause.async_wait(net::redirect_error(net::use_awaitable, error));
        continue;
      }
      Admit(std::move(socket));
    }
  }

  void Admit(tcp::socket socket) {
    error_code error;
    const auto remote = socket.remote_endpoint(error);
    if (error) return;
    const std::string address = remote.address().to_string();
    const std::string together = access::LimitKey(address);
    if (sessions_.size() >= options_.max_connections ||
        per_address_[together] >= options_.max_connections_per_address) {
      if (per_address_[together] == 0) per_address_.erase(together);
      stats_.Refuse(Refusal::kFull);
      return;  // closes the socket
    }
    if (!connection_rate_.Take(address, std::chrono::steady_clock::now())) {
      if (per_address_[together] == 0) per_address_.erase(together);
      stats_.Refuse(Refusal::kRate);
      return;
    }
    ++stats_.accepted;
    ++stats_.open;
    ++per_address_[together];
    auto session = std::make_shared<HttpSession>(
        std::move(socket), tls_->current(),
        HttpSession::Server{options_, stats_, pool_, quick_pool_, turns_, anonymous_rate_},
        address);
    sessions_.insert(session);
    net::co_spawn(io_, session->Run(), [this, session, together](const std::exception_ptr&) {
      sessions_.erase(session);
      if (--per_address_[together] == 0) per_address_.erase(together);
      --stats_.open;
      if (stopping_ && sessions_.empty()) stop_timer_.cancel();
    });
  }

  net::awaitable<void> WatchFiles() {
    while (!stopping_) {
      reload_timer_.expires_after(options_.reload_interval);
      error_code error;
      co_await reload_timer_.async_wait(net::redirect_error(net::use_awaitable, error));
      if (stopping_) break;
      const auto changed = tls_->ReloadIfChanged();
      if (!changed.ok()) {
        // Said once per problem, not once per look.
        const std::string problem(changed.status().message().data(),
                                  changed.status().message().size());
        if (problem != reload_problem_) {
          ++stats_.reload_failures;
          if (options_.log) options_.log(problem + "; the certificates loaded before stay in use");
        }
        reload_problem_ = problem;
        continue;
      }
      reload_problem_.clear();
      if (*changed) ++stats_.reloads;
    }
  }

  void BeginStop() {
    stopping_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    reload_timer_.cancel();
    for (const auto& session : sessions_) session->Finish();
    if (sessions_.empty()) return;
    stop_timer_.expires_after(options_.stop_grace);
    stop_timer_.async_wait([this](const error_code& error) {
      if (error) return;
      for (const auto& session : sessions_) session->Cut();
    });
  }

  const HttpServerOptions options_;
  const std::unique_ptr<TlsContext> tls_;
  HttpStats stats_;
  access::AddressLimits connection_rate_;
  access::AddressLimits anonymous_rate_;
  net::io_context io_{1};
  net::thread_pool pool_;
  net::thread_pool quick_pool_;
  tcp::acceptor acceptor_;
  net::steady_timer reload_timer_;
  net::steady_timer stop_timer_;
  uint16_t port_ = 0;
  std::thread thread_;
  // I/O thread only from here.
  Turns turns_;
  std::set<std::shared_ptr<HttpSession>> sessions_;
  std::map<std::string, size_t> per_address_;  // by access::LimitKey
  std::string reload_problem_;
  bool stopping_ = false;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { Stop(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options) {
  auto tls = TlsContext::Load({options.ca_file, options.cert_file, options.key_file});
  if (!tls.ok()) return tls.status();
  auto impl = std::make_unique<Impl>(std::move(options), *std::move(tls));
  if (auto status = impl->Listen(); !status.ok()) return status;
  impl->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

void HttpServer::Stop() { impl_->Stop(); }
uint16_t HttpServer::port() const { return impl_->port(); }
const HttpStats& HttpServer::stats() const { return impl_->stats(); }

}  // namespace telltale::web
