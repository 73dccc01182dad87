// Plain HTTP of loopback for tests: a free port, a GET, and a server that remembers what was posted
// to it.

#ifndef TELLTALE_TESTS_SUPPORT_PLAIN_HTTP_H_
#define TELLTALE_TESTS_SUPPORT_PLAIN_HTTP_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace telltale::testing {

// A port nobody listens on at the moment.
uint16_t FreePort();

// The whole answer, header first. Empty: no connection.
std::string PlainGet(uint16_t port, const std::string& target);

// Answers every POST with `status` and keeps its body.
class PostBox {
 public:
  explicit PostBox(int status = 200);
  ~PostBox();
  PostBox(const PostBox&) = delete;
  PostBox& operator=(const PostBox&) = delete;

  uint16_t port() const { return port_; }
  std::vector<std::string> bodies() const;
  void set_status(int status);

 private:
  void Run();
  int listener_ = -1;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  int status_;                       // guarded by mutex_
  std::vector<std::string> bodies_;  // guarded by mutex_
  std::thread thread_;               // keep last
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_PLAIN_HTTP_H_
