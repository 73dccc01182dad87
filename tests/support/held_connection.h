// A TCP connection to a port of loopback on which nobody says more than he is told to, open until
// the other side closes it or this goes. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_HELD_CONNECTION_H_
#define TELLTALE_TESTS_SUPPORT_HELD_CONNECTION_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace telltale::testing {

// A TLS handshake record of which nothing but the header and one byte came.
inline constexpr std::string_view kBeginOfClientHello("\x16\x03\x01\x02\x00\x01", 6);

class HeldConnection {
 public:
  // From an address of loopback, such as 127.0.0.2.
  explicit HeldConnection(uint16_t port, const std::string& from = "127.0.0.1");
  ~HeldConnection();
  HeldConnection(HeldConnection&& other) noexcept;
  HeldConnection(const HeldConnection&) = delete;

  bool connected() const { return connected_; }
  void Send(std::string_view bytes) const;
  // Waits for the other side to close it, at most this long: a bound for a test that fails.
  bool ClosedByPeer(int seconds = 60);

 private:
  int socket_ = -1;
  bool connected_ = false;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_HELD_CONNECTION_H_
