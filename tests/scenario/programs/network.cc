// Packets of known effect. usage: scenario_network flood|stream|unanswered ADDRESS
//   flood       datagrams over loopback to a receiver that drops them, as many as it can
//   stream      eight connections over loopback, each as many bytes as it takes: of a link that
//               loses packets, many are sent again
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

void ReadAll(int stream) {
  char block[16'384];
  while (read(stream, block, sizeof block) > 0) {
  }
  close(stream);
}

void Accept(int listener) {
  for (;;) {
    const int stream = accept(listener, nullptr, nullptr);
    if (stream >= 0) {
      std::thread(ReadAll, stream).detach();
    } else {
      // No descriptor is left: some come back as streams end.
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

void WriteOn(sockaddr_in to) {
  static const char block[16'384] = {};
  for (;;) {
    const int stream = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(stream, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
      while (send(stream, block, sizeof block, MSG_NOSIGNAL) > 0) {
      }
    }
    close(stream);
  }
}

void Stream() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to = At("127.0.0.1", 0);
  socklen_t size = sizeof to;
  bind(listener, reinterpret_cast<sockaddr*>(&to), size);
  getsockname(listener, reinterpret_cast<sockaddr*>(&to), &size);
  listen(listener, 8);
  for (int i = 0; i < 8; ++i) std::thread(WriteOn, to).detach();
  Accept(listener);
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
  if (kind == "stream") Stream();
  if (kind == "unanswered" && argc > 2) Unanswered(argv[2]);
  return 2;
}
