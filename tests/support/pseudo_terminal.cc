#include "tests/support/pseudo_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace telltale::testing {
namespace {

constexpr int kSliceMs = 100;
constexpr std::chrono::seconds kPatience{60};

}  // namespace

PseudoTerminal::~PseudoTerminal() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (terminal_ >= 0) close(terminal_);
}

void PseudoTerminal::Start(const std::string& program, const std::vector<std::string>& arguments,
                           const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<std::string> all = {program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);
  winsize size{};
  size.ws_col = columns_;
  size.ws_row = rows_;
  pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setenv("TERM", "xterm-256color", 1);
  unsetenv("NO_COLOR");
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  execv(argv[0], argv.data());
  _exit(127);
}

void PseudoTerminal::Send(const std::string& keys) const {
  if (write(terminal_, keys.data(), keys.size()) < 0) return;  // what comes of it is awaited
}

void PseudoTerminal::Resize(unsigned short columns, unsigned short rows) const {
  winsize size{};
  size.ws_col = columns;
  size.ws_row = rows;
  ioctl(terminal_, TIOCSWINSZ, &size);
}

bool PseudoTerminal::Read(int milliseconds) {
  pollfd file = {terminal_, POLLIN, 0};
  if (poll(&file, 1, milliseconds) <= 0) return true;
  char bytes[4096];
  const ssize_t got = read(terminal_, bytes, sizeof(bytes));
  if (got <= 0) return false;  // EIO: nobody has the other end open any more
  output_.append(bytes, static_cast<size_t>(got));
  return true;
}

bool PseudoTerminal::Await(const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline || !Read(kSliceMs)) return is_so();
  }
  return true;
}

int PseudoTerminal::AwaitEnd() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (Read(kSliceMs)) {
    if (std::chrono::steady_clock::now() < deadline) continue;
    kill(pid_, SIGKILL);
    break;
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<std::string> PseudoTerminal::Frame() const {
  const std::string home = "\x1b[H", end = "\x1b[J";
  // The last one that was drawn to its end.
  const size_t over = output_.rfind(end);
  if (over == std::string::npos) return {};
  const size_t begin = output_.rfind(home, over);
  if (begin == std::string::npos) return {};
  return LinesOf(Unpainted(output_.substr(begin + home.size(), over - begin - home.size())));
}

std::string Unpainted(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      const size_t last = text.find_first_of("mK", i);
      if (last == std::string::npos) return out;
      i = last;
    } else if (text[i] != '\r') {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else if (c != '\r') {
      lines.back() += c;
    }
  }
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace telltale::testing
