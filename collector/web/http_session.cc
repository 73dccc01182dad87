#include "collector/web/http_session.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/web/peer_watch.h"
#include "collector/web/request_head.h"

namespace telltale::web {
namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kPieceBytes = 64 * 1024;
constexpr std::chrono::seconds kCloseTimeout{1};

// Runs `work` on the pool and comes back to this coroutine's thread when it is done.
template <typename Work>
net::awaitable<void> OnPool(net::thread_pool& pool, Work& work) {
  auto home = co_await net::this_coro::executor;
  // The guard keeps the I/O thread running while its only pending work is elsewhere.
  auto initiate = [&pool, &work, home](auto handler) {
    net::post(pool, [&work, guard = net::make_work_guard(home), home,
                     handler = std::move(handler)]() mutable {
      work();
      net::post(home, std::move(handler));
    });
  };
  co_await net::async_initiate<const net::use_awaitable_t<>, void()>(initiate, net::use_awaitable);
}

std::string Text(beast::string_view view) { return std::string(view.data(), view.size()); }

// What every answer carries unless its handler says otherwise.
constexpr std::pair<const char*, const char*> kHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Cache-Control", "no-store"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"X-Frame-Options", "DENY"},
    {"Strict-Transport-Security", "max-age=31536000"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};

}  // namespace

// What a live stream wakes. It may be called from any thread for as long as the stream lives.
struct HttpSession::Wake {
  explicit Wake(const net::any_io_executor& executor) : timer(executor) {}
  net::steady_timer timer;  // I/O thread only
  std::atomic<bool> pending{false};
};

HttpSession::HttpSession(net::ip::tcp::socket socket, std::shared_ptr<net::ssl::context> context,
                         const HttpServerOptions& options, HttpStats& stats, net::thread_pool& pool,
                         access::AddressLimits& anonymous_rate, std::string address)
    : options_(options),
      stats_(stats),
      pool_(pool),
      context_(std::move(context)),
      stream_(std::move(socket), *context_),
      buffer_(std::max<size_t>(options.max_header_bytes, kReadBytes) + kReadBytes),
      began_(Clock::now()),
      cancelled_(std::make_shared<std::atomic<bool>>(false)),
      anonymous_rate_(anonymous_rate),
      address_(std::move(address)) {}

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
  if (X509* certificate = SSL_get1_peer_certificate(stream_.native_handle())) {
    certificate_.reset(certificate);
    auto peer = collector::IdentityOf(certificate);
    if (peer.ok()) {
      peer_ = *std::move(peer);
    } else {
      peer_problem_ = std::string(peer.status().message().data(), peer.status().message().size());
    }
  }
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
  if (!error && beast::iequals(parser->get()[http::field::expect], "100-continue")) {
    co_await net::async_write(stream_, net::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25),
                              net::redirect_error(net::use_awaitable, error));
  }
  if (!error) {
    co_await http::async_read(stream_, buffer_, *parser,
                              net::redirect_error(net::use_awaitable, error));
  }
  if (!error) co_return true;

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
  for (size_t dropped = 0; !error && dropped < 16 * kPieceBytes;) {
    buffer_.clear();
    const auto space = buffer_.prepare(kReadBytes);
    dropped +=
        co_await stream_.async_read_some(space, net::redirect_error(net::use_awaitable, error));
  }
  co_return false;
}

void HttpSession::Authenticate(const Parser& parser, Request& request) {
  bad_token_ = false;
  request.peer = peer_;
  request.peer_problem = peer_problem_;
  if (certificate_ != nullptr && options_.check_certificate) {
    if (absl::Status status = options_.check_certificate(certificate_.get()); !status.ok()) {
      request.peer.reset();
      request.peer_problem = std::string(status.message());
    }
  }
  const auto shown = parser.get().equal_range(http::field::authorization);
  if (shown.first == shown.second) return;
  request.peer.reset();
  const std::string value = Text(shown.first->value());
  absl::StatusOr<collector::Identity> peer =
      absl::UnauthenticatedError("Authorization: must be Bearer TOKEN, once");
  constexpr size_t kScheme = 7;
  if (options_.check_token && std::next(shown.first) == shown.second &&
      beast::iequals(value.substr(0, kScheme), "bearer ")) {
    peer = options_.check_token(std::string_view(value).substr(kScheme), address_);
  }
  if (peer.ok()) {
    request.peer = *std::move(peer);
    if (!peer_.has_value()) anonymous_rate_.GiveBack(address_, Clock::now());
  } else {
    bad_token_ = true;
    request.peer_problem = std::string(peer.status().message());
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
  Authenticate(parser, request);
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

net::awaitable<bool> HttpSession::Answer(Parser& parser) {
  const bool head = parser.get().method() == http::verb::head;
  const unsigned version = parser.get().version();
  if (!peer_.has_value() && !anonymous_rate_.Take(address_, Clock::now())) {
    co_return co_await Refuse(Refusal::kRate, 429,
                              "request: too many from this address without a certificate or token; "
                              "come again in a while");
  }
  Response response;
  auto work = [&] { response = Handle(parser); };
  {
    const PeerWatch watch(beast::get_lowest_layer(stream_).socket(), cancelled_);
    co_await OnPool(pool_, work);
  }
  if (const auto refusal = RefusalOf(response.status)) {
    stats_.Refuse(response.status == 401 && bad_token_ ? Refusal::kToken : *refusal);
  }
  const bool keep_alive = parser.get().keep_alive() && !finishing_ && !Old();
  co_return co_await Send(response, head, version, keep_alive);
}

net::awaitable<bool> HttpSession::Send(Response& response, bool head, unsigned version,
                                       bool keep_alive) {
  ++stats_.answers[static_cast<size_t>(response.status / 100) % stats_.answers.size()];
  // An HTTP/1.0 reader knows the end of a streamed body only by the end of the connection.
  const bool streamed = response.stream != nullptr;
  const bool chunked = streamed && version >= 11;
  if (streamed && !chunked) keep_alive = false;

  http::response<http::empty_body> message(
      http::int_to_status(static_cast<unsigned>(response.status)), version);
  for (const auto& [name, value] : kHeaders) message.set(name, value);
  message.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) message.set(name, value);
  if (response.status == 401) message.set(http::field::www_authenticate, "Bearer");
  message.keep_alive(keep_alive);
  if (chunked) {
    message.chunked(true);
  } else if (!streamed) {
    message.content_length(response.body.size());
  }
  std::string first;
  {
    std::ostringstream text;
    text << message.base();
    first = std::move(text).str();
  }
  // Header and the first piece in one write: one packet for the usual short answer.
  std::string_view body = head || streamed ? std::string_view() : std::string_view(response.body);
  const size_t begin = std::min(body.size(), kPieceBytes);
  first.append(body.substr(0, begin));
  body.remove_prefix(begin);
  bool sent = co_await Write(first, false, false);
  while (sent && !body.empty()) {
    const size_t bytes = std::min(body.size(), kPieceBytes);
    sent = co_await Write(body.substr(0, bytes), false, false);
    body.remove_prefix(bytes);
  }
  if (sent && streamed && !head) sent = co_await SendStream(*response.stream, chunked);
  if (!sent) {
    cancelled_->store(true);
    co_return false;
  }
  co_return keep_alive;
}

net::awaitable<bool> HttpSession::SendStream(BodyStream& body, bool chunked) {
  const auto executor = co_await net::this_coro::executor;
  wake_ = std::make_shared<Wake>(executor);
  {
    // The stream drops its wake before it dies, and it dies before the executor does.
    const std::shared_ptr<Wake> shared = wake_;
    auto attach = [&body, shared, executor] {
      body.SetWake([shared, executor] {
        shared->pending.store(true);
        net::post(executor, [shared] { shared->timer.cancel(); });
      });
    };
    co_await OnPool(pool_, attach);
  }
  std::string piece;
  absl::StatusOr<BodyStream::Step> step = BodyStream::Step::kMore;
  while (true) {
    piece.clear();
    auto pull = [&] { step = body.Next(piece); };
    co_await OnPool(pool_, pull);
    if (!step.ok()) {
      stats_.Refuse(Refusal::kAborted);
      if (options_.log) {
        options_.log(absl::StrCat(
            "https: answer cut short: ",
            std::string(step.status().message().data(), step.status().message().size())));
      }
      co_return false;
    }
    if (!piece.empty() && !co_await Write(piece, chunked, false)) {
      stats_.Refuse(Refusal::kAborted);
      co_return false;
    }
    if (*step == BodyStream::Step::kEnd) break;
    if (*step == BodyStream::Step::kMore) continue;
    // A live stream ends cleanly when the server stops or the connection is old; its reader resumes
    // by cursor.
    if (finishing_ || Old()) break;
    const bool woken = co_await WaitForWake(*wake_);
    if (finishing_ || Old()) break;
    if (!woken) {
      piece = std::string(body.Heartbeat());
      if (!piece.empty() && !co_await Write(piece, chunked, false)) co_return false;
    }
  }
  co_return !chunked || co_await Write({}, true, true);
}

net::awaitable<bool> HttpSession::WaitForWake(Wake& wake) {
  // A wake after this line cancels the wait through a post, which this thread runs only once it
  // waits.
  if (wake.pending.exchange(false)) co_return true;
  wake.timer.expires_after(options_.heartbeat);
  error_code error;
  co_await wake.timer.async_wait(net::redirect_error(net::use_awaitable, error));
  co_return wake.pending.exchange(false);
}

net::awaitable<bool> HttpSession::Write(std::string_view piece, bool chunked, bool last) {
  beast::get_lowest_layer(stream_).expires_after(options_.write_timeout);
  error_code error;
  if (last) {
    const auto end = http::make_chunk_last();
    co_await net::async_write(stream_, end, net::redirect_error(net::use_awaitable, error));
  } else if (chunked) {
    const auto chunk = http::make_chunk(net::const_buffer(piece.data(), piece.size()));
    co_await net::async_write(stream_, chunk, net::redirect_error(net::use_awaitable, error));
  } else {
    co_await net::async_write(stream_, net::const_buffer(piece.data(), piece.size()),
                              net::redirect_error(net::use_awaitable, error));
  }
  CountFailure(error);
  co_return !error;
}

}  // namespace telltale::web
