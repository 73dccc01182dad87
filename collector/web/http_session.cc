#include "collector/web/http_session.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/web/on_pool.h"
#include "collector/web/peer_watch.h"
#include "collector/web/request_head.h"

namespace telltale::web {
namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kDroppedBytes = 1024 * 1024;
constexpr std::chrono::seconds kCloseTimeout{1};

std::string Text(beast::string_view view) { return std::string(view.data(), view.size()); }

}  // namespace

HttpSession::HttpSession(net::ip::tcp::socket socket, std::shared_ptr<net::ssl::context> context,
                         const Server& server, std::string address)
    : options_(server.options),
      stats_(server.stats),
      server_(server),
      context_(std::move(context)),
      stream_(std::move(socket), *context_),
      buffer_(std::max<size_t>(options_.max_header_bytes, kReadBytes) + kReadBytes),
      began_(Clock::now()),
      asker_(options_, std::move(address)),
      cancelled_(std::make_shared<std::atomic<bool>>(false)) {}

void HttpSession::Finish() {
  finishing_ = true;
  if (idle_) beast::get_lowest_layer(stream_).cancel();
  if (wake_ != nullptr) wake_->timer.cancel();
}

void HttpSession::Cut() {
  finishing_ = true;
  cancelled_->store(true);
  beast::get_lowest_layer(stream_).close();
  if (wake_ != nullptr) wake_->timer.cancel();
}

void HttpSession::CountFailure(const error_code& error) {
  if (error == beast::error::timeout) stats_.Refuse(Refusal::kTimeout);
}

net::awaitable<void> HttpSession::Run() {
  const auto self = shared_from_this();
  bool clean = false;
  try {
    bool more = co_await Handshake();
    while (more && !finishing_) {
      std::optional<Parser> parser;
      idle_ = true;
      more = co_await ReadRequest(parser);
      clean = true;
      if (!more || !parser.has_value()) break;
      more = co_await Answer(*parser);
      clean = more || !cancelled_->load();
    }
  } catch (const std::exception& problem) {
    clean = false;
    if (options_.log) options_.log(absl::StrCat("https: connection ended by: ", problem.what()));
  }
  cancelled_->store(true);
  auto& socket = beast::get_lowest_layer(stream_);
  if (clean && socket.socket().is_open()) {
    // A TLS close tells the reader that what it has is all there is.
    error_code ignored;
    socket.expires_after(kCloseTimeout);
    co_await stream_.async_shutdown(net::redirect_error(net::use_awaitable, ignored));
  }
  socket.close();
}

net::awaitable<bool> HttpSession::Handshake() {
  error_code error;
  beast::get_lowest_layer(stream_).socket().set_option(net::ip::tcp::no_delay(true), error);
  beast::get_lowest_layer(stream_).expires_after(options_.handshake_timeout);
  co_await stream_.async_handshake(net::ssl::stream_base::server,
                                   net::redirect_error(net::use_awaitable, error));
  if (error) {
    stats_.Refuse(Refusal::kTls);
    CountFailure(error);
    beast::get_lowest_layer(stream_).close();
    co_return false;
  }
  const STACK_OF(X509)* chain = SSL_get0_verified_chain(stream_.native_handle());
  if (chain != nullptr && sk_X509_num(chain) > 0) asker_.SetCertificate(chain);
  co_return true;
}

net::awaitable<bool> HttpSession::ReadRequest(std::optional<Parser>& parser) {
  auto& socket = beast::get_lowest_layer(stream_);
  error_code error;
  if (buffer_.size() == 0) {
    // Silence here is how keep-alive connections end, not a failure.
    socket.expires_after(options_.idle_timeout);
    const auto space = buffer_.prepare(kReadBytes);
    const size_t bytes =
        co_await stream_.async_read_some(space, net::redirect_error(net::use_awaitable, error));
    if (error) co_return false;
    buffer_.commit(bytes);
  }
  idle_ = false;
  // One deadline for the whole request: a byte now and then does not extend it.
  socket.expires_after(options_.request_timeout);
  if (!co_await ReadHead()) co_return false;
  parser.emplace();
  parser->header_limit(options_.max_header_bytes);
  parser->body_limit(options_.max_body_bytes);
  co_await http::async_read_header(stream_, buffer_, *parser,
                                   net::redirect_error(net::use_awaitable, error));
  if (!error) co_return true;
  co_return co_await RefuseUnread(error);
}

net::awaitable<bool> HttpSession::ReadBody(Parser& parser) {
  if (parser.is_done()) co_return true;
  error_code error;
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    co_await net::async_write(stream_, net::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25),
                              net::redirect_error(net::use_awaitable, error));
  }
  if (!error) {
    co_await http::async_read(stream_, buffer_, parser,
                              net::redirect_error(net::use_awaitable, error));
  }
  if (!error) co_return true;
  co_return co_await RefuseUnread(error);
}

net::awaitable<bool> HttpSession::RefuseUnread(const error_code& error) {
  CountFailure(error);
  if (error == http::error::body_limit) {
    co_await Refuse(Refusal::kBodyLimit, 413,
                    absl::StrCat("request: body above ", options_.max_body_bytes,
                                 " bytes; ask for less at once"));
  } else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
             error != http::error::end_of_stream) {
    co_await Refuse(Refusal::kBadRequest, 400,
                    absl::StrCat("request: not HTTP/1.1: ", error.message()));
  }
  co_return false;
}

net::awaitable<bool> HttpSession::ReadHead() {
  const auto seen = [this] {
    const auto bytes = buffer_.data();
    return std::string_view(static_cast<const char*>(bytes.data()), bytes.size());
  };
  std::optional<size_t> head;
  while (true) {
    absl::Status status = FindHead(seen().substr(0, options_.max_header_bytes), &head);
    if (status.ok() && head.has_value()) status = CheckHead(seen().substr(0, *head));
    if (absl::IsInvalidArgument(status)) {
      co_return co_await Refuse(
          Refusal::kBadRequest, 400,
          absl::StrCat("request: ", std::string(status.message()), "; send HTTP/1.1"));
    }
    if (!status.ok() || (!head.has_value() && seen().size() >= options_.max_header_bytes)) {
      co_return co_await Refuse(
          Refusal::kHeaderLimit, 431,
          absl::StrCat("request: line and headers above ", options_.max_header_bytes, " bytes or ",
                       kMaxHeaders, " headers; POST parameters"));
    }
    if (head.has_value()) co_return true;
    error_code error;
    const auto space = buffer_.prepare(kReadBytes);
    const size_t bytes =
        co_await stream_.async_read_some(space, net::redirect_error(net::use_awaitable, error));
    if (error) {
      CountFailure(error);
      co_return false;
    }
    buffer_.commit(bytes);
  }
}

net::awaitable<bool> HttpSession::Refuse(Refusal refusal, int status, std::string_view message) {
  stats_.Refuse(refusal);
  Response response = ErrorResponse(status, message);
  co_await Send(response, false, 11, false);
  // The rest of the request is still in flight: closing now would reset the connection and could
  // take the answer with it, so what comes within the close timeout is read and dropped.
  auto& socket = beast::get_lowest_layer(stream_);
  socket.expires_after(kCloseTimeout);
  error_code error;
  for (size_t dropped = 0; !error && dropped < kDroppedBytes;) {
    buffer_.clear();
    const auto space = buffer_.prepare(kReadBytes);
    dropped +=
        co_await stream_.async_read_some(space, net::redirect_error(net::use_awaitable, error));
  }
  co_return false;
}

net::awaitable<bool> HttpSession::Admit(const Parser& parser) {
  who_.reset();
  const bool known = asker_.Known(parser.get());
  rate_taken_ = !known;
  if (!known && !server_.anonymous_rate.Take(asker_.address(), Clock::now())) {
    co_return co_await Refuse(Refusal::kRate, 429,
                              "request: too many from this address without a certificate or token "
                              "that may ask; come again in a while");
  }
  if (known || parser.is_done()) co_return true;
  // No room is made for what comes from somebody who may not ask.
  auto work = [&] { FindAsker(parser); };
  co_await OnPool(server_.quick_pool, work);
  if (who_->reader()) co_return true;
  if (who_->peer.has_value()) {
    const std::string why = absl::StrCat("certificate of node ", who_->peer->name,
                                         " may not ask; use a viewer's or an operator's "
                                         "(telltale pki issue)");
    co_return co_await Refuse(Refusal::kForbidden, 403, why);
  }
  std::string why = who_->problem;
  if (why.empty()) {
    why =
        "neither client certificate nor token; use a viewer's or an operator's (telltale pki "
        "issue, telltale token create)";
  }
  const Refusal as = who_->bad_token ? Refusal::kToken : Refusal::kUnauthenticated;
  co_return co_await Refuse(as, 401, why);
}

void HttpSession::FindAsker(const Parser& parser) {
  if (who_.has_value()) return;
  who_ = asker_.Find(parser.get());
  if (rate_taken_ && who_->peer.has_value() && !who_->token.empty()) {
    server_.anonymous_rate.GiveBack(asker_.address(), Clock::now());
  }
}

Response HttpSession::Handle(const Parser& parser) {
  const auto& message = parser.get();
  Request request;
  request.method = Text(message.method_string());
  const std::string target = Text(message.target());
  const size_t question = std::min(target.find('?'), target.size());
  if (target.empty() || target.front() != '/') {
    return ErrorResponse(400, "request: target does not begin with /");
  }
  auto path = PercentDecode(std::string_view(target).substr(0, question), false);
  if (!path.ok()) return ErrorResponse(path.status());
  auto query = ParseQuery(std::string_view(target).substr(std::min(question + 1, target.size())));
  if (!query.ok()) return ErrorResponse(query.status());
  request.path = *std::move(path);
  request.query = *std::move(query);
  request.content_type = Text(message[http::field::content_type]);
  request.accept = Text(message[http::field::accept]);
  request.last_event_id = Text(message["Last-Event-ID"]);
  request.sec_fetch_site = Text(message["Sec-Fetch-Site"]);
  request.body = message.body();
  request.origin = Text(message[http::field::origin]);
  request.host = Text(message[http::field::host]);
  FindAsker(parser);
  request.address = asker_.address();
  request.peer = who_->peer;
  request.peer_problem = who_->problem;
  request.cancelled = cancelled_;
  try {
    return options_.handler(request);
  } catch (const std::exception& problem) {
    if (options_.log) {
      options_.log(
          absl::StrCat("https: answering ", JsonEscape(request.path), " failed: ", problem.what()));
    }
    return ErrorResponse(500, "internal error; the collector's log has the reason");
  }
}

bool HttpSession::Open(const Parser& parser, bool may_stay) const {
  return may_stay && parser.get().keep_alive() && !finishing_ && !Old();
}

net::awaitable<bool> HttpSession::Answer(Parser& parser) {
  const bool head = parser.get().method() == http::verb::head;
  const unsigned version = parser.get().version();
  const std::string target = Text(parser.get().target());
  const std::string path = target.substr(0, target.find('?'));
  if (options_.at_once && parser.is_done()) {
    if (auto now = options_.at_once(Text(parser.get().method_string()), path)) {
      // Whoever asks too often is answered, too, and has to connect again, which has a rate as
      // well.
      const bool may_stay =
          asker_.Known(parser.get()) || server_.anonymous_rate.Take(asker_.address(), Clock::now());
      co_return co_await Send(*now, head, version, Open(parser, may_stay));
    }
  }
  if (!co_await Admit(parser)) co_return false;
  if (!co_await ReadBody(parser)) co_return false;
  Response response;
  auto work = [&] { response = Handle(parser); };
  {
    const PeerWatch watch(beast::get_lowest_layer(stream_).socket(), cancelled_);
    if (options_.quick && options_.quick(path)) {
      co_await OnPool(server_.quick_pool, work);
    } else {
      const std::string asker = asker_.Name(parser.get());
      co_await server_.turns.Take(asker);
      const Turns::Held turn(server_.turns, asker);
      co_await OnPool(server_.pool, work);
    }
  }
  const auto refusal = response.refusal ? response.refusal : RefusalOf(response.status);
  if (refusal.has_value()) {
    const bool token = response.status == 401 && who_.has_value() && who_->bad_token;
    stats_.Refuse(token ? Refusal::kToken : *refusal);
  }
  co_return co_await Send(response, head, version, Open(parser, true));
}

}  // namespace telltale::web
