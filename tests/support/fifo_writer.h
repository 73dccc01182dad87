// A thread that waits in opening a FIFO for writing, as long as nobody opens it for reading.

#ifndef TELLTALE_TESTS_SUPPORT_FIFO_WRITER_H_
#define TELLTALE_TESTS_SUPPORT_FIFO_WRITER_H_

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

namespace telltale::testing {

class FifoWriter {
 public:
  // Returns once it waits. `path` is a FIFO until this object is gone.
  explicit FifoWriter(std::string path) : path_(std::move(path)), thread_([this] { Write(); }) {
    while (!opened_ && !Waits()) std::this_thread::yield();
  }
  ~FifoWriter() {
    const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    thread_.join();
    if (reader >= 0) close(reader);
  }
  FifoWriter(const FifoWriter&) = delete;
  FifoWriter& operator=(const FifoWriter&) = delete;

  // False from the moment on that somebody has opened it for reading: whoever does so wakes it, and
  // it does not sleep again.
  bool Waits() const { return State() == 'S' && !opened_; }

 private:
  void Write() {
    thread_id_ = gettid();
    const int writer = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    opened_ = true;
    if (writer >= 0) close(writer);
  }
  // Of the thread, as /proc calls it; 0: it has not begun, or is gone.
  char State() const {
    if (thread_id_ == 0) return 0;
    std::ifstream file("/proc/self/task/" + std::to_string(thread_id_) + "/stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const size_t name_end = stat.rfind(')');
    return name_end == std::string::npos || name_end + 2 >= stat.size() ? '\0' : stat[name_end + 2];
  }

  const std::string path_;
  std::atomic<pid_t> thread_id_ = 0;
  std::atomic<bool> opened_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_FIFO_WRITER_H_
