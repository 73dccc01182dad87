// Packets of known effect. usage: scenario_network flood|unanswered ADDRESS
//   flood       datagrams over loopback to a receiver that drops them, as many as it can
//   unanswered  300 connections at a time to ADDRESS, where nobody answers: each SYN is sent again
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

namespace {

sockaddr_in At(const char* address, uint16_t port) {
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  inet_pton(AF_INET, address, &at.sin_addr);
  return at;
}

void Flood() {
  const int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to = At("127.0.0.1", 0);
  socklen_t size = sizeof to;
  bind(receiver, reinterpret_cast<sockaddr*>(&to), size);
  getsockname(receiver, reinterpret_cast<sockaddr*>(&to), &size);
  for (;;) sendto(sender, "x", 1, 0, reinterpret_cast<sockaddr*>(&to), size);
}

void Unanswered(const char* address) {
  const sockaddr_in to = At(address, 9);
  for (std::vector<int> waiting;;) {
    for (int i = 0; i < 300; ++i) {
      waiting.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      connect(waiting.back(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3500));
    for (const int stream : waiting) close(stream);
    waiting.clear();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if (kind == "flood") Flood();
  if (kind == "unanswered" && argc > 2) Unanswered(argv[2]);
  return 2;
}
