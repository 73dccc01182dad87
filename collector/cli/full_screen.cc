#include "collector/cli/full_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace telltale::cli {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l", kLeave = "\x1b[?25h\x1b[?1049l";
constexpr size_t kMaxKeys = 256;

void WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

sigset_t Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&set, number);
  return set;
}

}  // namespace

Key TakeKey(std::string* input) {
  static constexpr std::pair<std::string_view, Key> kSequences[] = {
      {"\x1b[A", Key::kUp},       {"\x1b[B", Key::kDown},     {"\x1b[C", Key::kNext},
      {"\x1b[D", Key::kPrevious}, {"\x1b[Z", Key::kPrevious}, {"\x1bOA", Key::kUp},
      {"\x1bOB", Key::kDown},     {"\x1bOC", Key::kNext},     {"\x1bOD", Key::kPrevious},
      {"\t", Key::kNext},         {"q", Key::kQuit},          {"Q", Key::kQuit},
      {"\x03", Key::kQuit},       {" ", Key::kPause}};
  if (input->empty()) return Key::kNone;
  for (const auto& [bytes, key] : kSequences) {
    if (std::string_view(*input).starts_with(bytes)) {
      input->erase(0, bytes.size());
      return key;
    }
    if (bytes.size() > input->size() && bytes.starts_with(*input)) return Key::kNone;
  }
  // Another sequence goes as a whole: up to its final letter.
  size_t length = 1;
  if (input->size() > 1 && (*input)[0] == '\x1b' && (*input)[1] == '[') {
    length = 2;
    while (length < input->size() && ((*input)[length] < '@' || (*input)[length] > '~')) ++length;
    if (length == input->size() && length < kMaxKeys) return Key::kNone;
    ++length;
  }
  input->erase(0, length);
  return Key::kOther;
}

absl::StatusOr<std::unique_ptr<FullScreen>> FullScreen::Open() {
  const char* terminal = std::getenv("TERM");
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0 || terminal == nullptr ||
      std::string_view(terminal) == "dumb") {
    return absl::InvalidArgumentError(
        "live: draws on a terminal and this is none; `telltale top` prints once, into anything");
  }
  std::unique_ptr<FullScreen> screen(new FullScreen);
  const sigset_t set = Signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  screen->signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (screen->signals_ < 0 || tcgetattr(STDIN_FILENO, &screen->before_) != 0) {
    return absl::InternalError(
        absl::StrCat("live: the terminal cannot be set up: ", std::strerror(errno)));
  }
  termios raw = screen->before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  WriteAll(kEnter);
  screen->entered_ = true;
  return screen;
}

FullScreen::~FullScreen() {
  if (entered_) {
    WriteAll(kLeave);
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  if (signals_ >= 0) close(signals_);
}

FullScreen::Size FullScreen::size() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {size.ws_col, size.ws_row};
}

void FullScreen::Draw(const std::string& lines) {
  // Each line clears what stood behind it, so that nothing flickers.
  WriteAll(
      absl::StrCat("\x1b[H", absl::StrReplaceAll(lines, {{"\n", "\x1b[K\r\n"}}), "\x1b[K\x1b[J"));
}

Key FullScreen::Await(std::chrono::milliseconds time) {
  if (const Key key = TakeKey(&input_); key != Key::kNone) return key;
  pollfd files[] = {{STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}};
  if (poll(files, 2, static_cast<int>(time.count())) <= 0) return Key::kNone;
  if ((files[1].revents & POLLIN) != 0) {
    signalfd_siginfo signal{};
    if (read(signals_, &signal, sizeof(signal)) != sizeof(signal)) return Key::kNone;
    return signal.ssi_signo == SIGWINCH ? Key::kResized : Key::kQuit;
  }
  char bytes[64];
  const ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
  if (got <= 0) return (files[0].revents & (POLLHUP | POLLERR)) != 0 ? Key::kQuit : Key::kNone;
  input_.append(bytes, static_cast<size_t>(got));
  if (input_.size() > kMaxKeys) input_.clear();  // nobody types that much
  return TakeKey(&input_);
}

}  // namespace telltale::cli
