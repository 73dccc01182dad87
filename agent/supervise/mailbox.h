// A bounded queue into a thread that waits in poll(2): its descriptor is readable while something
// is in it. At the bound Post answers false and the caller decides what that costs.

#ifndef TELLTALE_AGENT_SUPERVISE_MAILBOX_H_
#define TELLTALE_AGENT_SUPERVISE_MAILBOX_H_

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace telltale::agent {

template <typename T>
class Mailbox {
 public:
  explicit Mailbox(size_t bound) : bound_(bound), fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() { close(fd_); }

  // Any thread.
  bool Post(T item) {
    {
      const std::lock_guard lock(mutex_);
      if (items_.size() >= bound_) return false;
      items_.push_back(std::move(item));
    }
    const uint64_t one = 1;
    return write(fd_, &one, sizeof(one)) == sizeof(one);
  }

  // The owner: everything in it, in order.
  std::vector<T> Take() {
    uint64_t count = 0;
    (void)!read(fd_, &count, sizeof(count));
    const std::lock_guard lock(mutex_);
    return std::exchange(items_, {});
  }

  int fd() const { return fd_; }

 private:
  const size_t bound_;
  const int fd_;
  std::mutex mutex_;
  std::vector<T> items_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_MAILBOX_H_
