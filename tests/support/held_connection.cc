#include "tests/support/held_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace telltale::testing {

HeldConnection::HeldConnection(uint16_t port, const std::string& from)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in own = {};
  own.sin_family = AF_INET;
  inet_pton(AF_INET, from.c_str(), &own.sin_addr);
  sockaddr_in peer = own;
  peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  peer.sin_port = htons(port);
  connected_ = bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 &&
               connect(socket_, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) == 0;
}

HeldConnection::~HeldConnection() {
  if (socket_ >= 0) close(socket_);
}

HeldConnection::HeldConnection(HeldConnection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_) {}

void HeldConnection::Send(std::string_view bytes) const {
  send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

bool HeldConnection::ClosedByPeer(int seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  for (auto left = end - Clock::now(); left.count() > 0; left = end - Clock::now()) {
    pollfd ready = {.fd = socket_, .events = POLLIN, .revents = 0};
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
    if (poll(&ready, 1, static_cast<int>(wait)) <= 0) continue;
    char came[4096];
    if (read(socket_, came, sizeof came) <= 0) return true;
  }
  return false;
}

}  // namespace telltale::testing
