// Notices that the other end closed its connection while nobody reads from it, because the answer
// is still being computed: then the answer is of no use any more and its work ends.
//
// One per answer; made, asked and destroyed on the I/O thread.

#ifndef TELLTALE_COLLECTOR_WEB_PEER_WATCH_H_
#define TELLTALE_COLLECTOR_WEB_PEER_WATCH_H_

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

namespace telltale::web {

class PeerWatch {
 public:
  // Sets `gone` some tenths of a second after the peer closed; looks no more once it is set.
  PeerWatch(boost::asio::ip::tcp::socket& socket, std::shared_ptr<std::atomic<bool>> gone);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

 private:
  struct State;
  static void Look(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;
};

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_PEER_WATCH_H_
