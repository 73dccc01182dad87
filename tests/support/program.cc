#include "tests/support/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

namespace telltale::testing {

std::string ReadAll(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

bool Await(const std::function<bool()>& is_so, int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void Program::Start(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);
  exit_code_ = -1;
  pid_ = fork();
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // also when the test itself is killed
  const int fd = open(log_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  execv(argv[0], argv.data());
  _exit(127);
}

bool Program::Ended() {
  if (pid_ < 0) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  pid_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

void Program::Signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

void Program::Kill() {
  Signal(SIGKILL);
  AwaitEnd();
}

int Program::Stop() {
  Signal(SIGTERM);
  return AwaitEnd();
}

int Program::AwaitEnd() {
  if (!Await([this] { return Ended(); })) {
    Signal(SIGKILL);
    Await([this] { return Ended(); });
  }
  return exit_code_;
}

std::string Program::log() const { return ReadAll(log_file_); }

}  // namespace telltale::testing
