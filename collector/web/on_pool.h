// From a coroutine to a worker and back. Private to the web server.

#ifndef TELLTALE_COLLECTOR_WEB_ON_POOL_H_
#define TELLTALE_COLLECTOR_WEB_ON_POOL_H_

#include <utility>  // awaitable.hpp of Boost 1.74 needs it and does not say so

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace telltale::web {

// Runs `work` on the pool and comes back to this coroutine's thread when it is done.
template <typename Work>
boost::asio::awaitable<void> OnPool(boost::asio::thread_pool& pool, Work& work) {
  auto home = co_await boost::asio::this_coro::executor;
  // The guard keeps the I/O thread running while its only pending work is elsewhere.
  auto initiate = [&pool, &work, home](auto handler) {
    boost::asio::post(pool, [&work, guard = boost::asio::make_work_guard(home), home,
                             handler = std::move(handler)]() mutable {
      work();
      boost::asio::post(home, std::move(handler));
    });
  };
  co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
      initiate, boost::asio::use_awaitable);
}

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_ON_POOL_H_
