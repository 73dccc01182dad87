#include "collector/web/peer_watch.h"

#include <poll.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

namespace telltale::web {
namespace {

constexpr std::chrono::milliseconds kInterval{200};

}  // namespace

struct PeerWatch::State {
  boost::asio::steady_timer timer;
  const int descriptor;
  const std::shared_ptr<std::atomic<bool>> gone;
};

PeerWatch::PeerWatch(boost::asio::ip::tcp::socket& socket, std::shared_ptr<std::atomic<bool>> gone)
    : state_(std::make_shared<State>(boost::asio::steady_timer(socket.get_executor()),
                                     socket.native_handle(), std::move(gone))) {
  Look(state_);
}

PeerWatch::~PeerWatch() { state_->timer.cancel(); }

void PeerWatch::Look(const std::shared_ptr<State>& state) {
  // Once it is set the connection may have been cut and its descriptor be somebody else's.
  if (state->gone->load()) return;
  // Bytes may wait to be read (a next request, TLS's close): the end shows all the same.
  pollfd end{state->descriptor, POLLRDHUP, 0};
  if (poll(&end, 1, 0) > 0 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
    state->gone->store(true);
    return;
  }
  state->timer.expires_after(kInterval);
  state->timer.async_wait([state](const boost::system::error_code& error) {
    if (!error) Look(state);
  });
}

}  // namespace telltale::web
