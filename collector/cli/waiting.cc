#include "collector/cli/waiting.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/cli/terminal_text.h"

namespace telltale::cli {
namespace {

constexpr std::chrono::milliseconds kSecond{1000};

bool TerminalOnStderr() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace

Waiting::Waiting(std::string whom, bool shown) : whom_(std::move(whom)) {
  if (shown && TerminalOnStderr()) thread_ = std::thread([this] { Run(); });
}

Waiting::~Waiting() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Waiting::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  int seconds = 0;
  while (!changed_.wait_for(lock, kSecond, [this] { return over_; })) {
    std::cerr << absl::StrCat("\r\x1b[K", Escaped(whom_), " is working, ", ++seconds, " s")
              << std::flush;
  }
  if (seconds > 0) std::cerr << "\r\x1b[K" << std::flush;
}

}  // namespace telltale::cli
