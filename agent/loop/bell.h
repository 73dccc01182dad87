// Ends another thread's wait in poll(2): its descriptor is readable from the first Ring until
// Clear. Any thread rings.

#ifndef TELLTALE_AGENT_LOOP_BELL_H_
#define TELLTALE_AGENT_LOOP_BELL_H_

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace telltale::agent {

class Bell {
 public:
  Bell() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell() { close(fd_); }

  void Ring() {
    const uint64_t one = 1;
    (void)!write(fd_, &one, sizeof(one));
  }
  void Clear() {
    uint64_t count = 0;
    (void)!read(fd_, &count, sizeof(count));
  }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_LOOP_BELL_H_
