#include "collector/web/turns.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace telltale::web {
namespace net = boost::asio;

net::awaitable<void> Turns::Take(std::string asker) {
  Share& share = shares_[asker];
  if (share.running < each_) {
    ++share.running;
    co_return;
  }
  const auto executor = co_await net::this_coro::executor;
  const auto turn = std::make_shared<net::steady_timer>(executor);
  turn->expires_at(net::steady_timer::time_point::max());
  share.waiting.push_back(turn);
  boost::system::error_code ignored;
  // What the one before gave up is his: `running` stays as it is.
  co_await turn->async_wait(net::redirect_error(net::use_awaitable, ignored));
}

void Turns::Done(const std::string& asker) {
  const auto share = shares_.find(asker);
  if (!share->second.waiting.empty()) {
    share->second.waiting.front()->cancel();
    share->second.waiting.pop_front();
  } else if (--share->second.running == 0) {
    shares_.erase(share);
  }
}

}  // namespace telltale::web
