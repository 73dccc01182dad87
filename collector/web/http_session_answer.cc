// How an answer is sent, at once or as a stream. A part of class HttpSession.

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/web/http_session.h"
#include "collector/web/on_pool.h"

namespace telltale::web {
namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr size_t kPieceBytes = 64 * 1024;
// How often it is asked, of an open stream, whether its reader may still have it.
constexpr std::chrono::milliseconds kAskerLook{1'000};

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
    co_await OnPool(server_.quick_pool, attach);
  }
  std::string piece;
  absl::StatusOr<BodyStream::Step> step = BodyStream::Step::kMore;
  Clock::time_point look_again = Clock::now() + kAskerLook;
  while (true) {
    piece.clear();
    auto pull = [&] { step = body.Next(piece); };
    co_await OnPool(server_.quick_pool, pull);
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
    if (Clock::now() >= look_again) {
      look_again = Clock::now() + kAskerLook;
      if (who_.has_value() && !asker_.MayStill(*who_).ok()) {
        stats_.Refuse(who_->token.empty() ? Refusal::kUnauthenticated : Refusal::kToken);
        co_return false;
      }
    }
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
