#include "tests/support/plain_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace telltale::testing {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

uint16_t PortOf(int bound) {
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  getsockname(bound, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

}  // namespace

uint16_t FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address);
  const uint16_t port = PortOf(probe);
  close(probe);
  return port;
}

std::string PlainGet(uint16_t port, const std::string& target) {
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(port);
  std::string answer;
  if (connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "GET " + target + " HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n";
    if (write(client, request.data(), request.size()) > 0) {
      char bytes[4096];
      for (ssize_t got; (got = read(client, bytes, sizeof bytes)) > 0;) {
        answer.append(bytes, static_cast<size_t>(got));
      }
    }
  }
  close(client);
  return answer;
}

PostBox::PostBox(int status) : status_(status) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  listen(listener_, 16);
  port_ = PortOf(listener_);
  thread_ = std::thread([this] { Run(); });
}

PostBox::~PostBox() {
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
}

std::vector<std::string> PostBox::bodies() const {
  const std::lock_guard lock(mutex_);
  return bodies_;
}

void PostBox::set_status(int status) {
  const std::lock_guard lock(mutex_);
  status_ = status;
}

void PostBox::Run() {
  while (true) {
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    const timeval limit{10, 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::string bytes;
    char piece[16384];
    size_t whole = std::string::npos;
    while (bytes.size() < whole) {
      const ssize_t got = read(client, piece, sizeof piece);
      if (got <= 0) break;
      bytes.append(piece, static_cast<size_t>(got));
      const size_t end = bytes.find("\r\n\r\n");
      if (whole != std::string::npos || end == std::string::npos) continue;
      std::string head = bytes.substr(0, end);
      std::ranges::transform(head, head.begin(), [](unsigned char c) { return std::tolower(c); });
      const size_t length = head.find("content-length: ");
      whole = end + 4;
      if (length != std::string::npos) {
        whole += std::strtoul(head.c_str() + length + sizeof("content-length: ") - 1, nullptr, 10);
      }
    }
    std::string answer;
    if (whole != std::string::npos && bytes.size() >= whole) {
      const std::lock_guard lock(mutex_);
      bodies_.push_back(bytes.substr(bytes.find("\r\n\r\n") + 4));
      answer = "HTTP/1.1 " + std::to_string(status_) +
               " So\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
    }
    (void)!write(client, answer.data(), answer.size());
    close(client);
  }
}

}  // namespace telltale::testing
