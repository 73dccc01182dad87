// A file descriptor that is closed with its owner. Value type: one thread at a time.

#ifndef TELLTALE_AGENT_OWNED_FD_H_
#define TELLTALE_AGENT_OWNED_FD_H_

#include <unistd.h>

#include <utility>

namespace telltale::agent {

class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~OwnedFd() { Close(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  int fd_ = -1;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_OWNED_FD_H_
