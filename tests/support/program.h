// A program under test: started with its output in a file, ended in whatever way the test wants,
// gone when this is gone. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_PROGRAM_H_
#define TELLTALE_TESTS_SUPPORT_PROGRAM_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace telltale::testing {

class Program {
 public:
  // Both streams are appended to `log_file`.
  explicit Program(std::string log_file) : log_file_(std::move(log_file)) {}
  ~Program() { Kill(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Start(const std::string& program, const std::vector<std::string>& arguments);
  bool started() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  // Whether it is over; then its exit code is exit_code().
  bool Ended();
  // 128 + the signal that ended it; -1: it was never started.
  int exit_code() const { return exit_code_; }
  void Signal(int number) const;
  void Kill();     // kill -9, and waits for the end
  int Stop();      // SIGTERM; its exit code
  int AwaitEnd();  // it must end by itself within a minute, else it is killed; its exit code
  std::string log() const;

 private:
  const std::string log_file_;
  pid_t pid_ = -1;
  int exit_code_ = -1;
};

// Asks until it is so, at most this long. The bound is for a test that fails, not a measure.
bool Await(const std::function<bool()>& is_so, int seconds = 60);

std::string ReadAll(const std::string& file);

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_PROGRAM_H_
