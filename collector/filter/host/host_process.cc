#include "collector/filter/host/host_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/host/host_limits.h"
#include "proto/codec.h"

namespace telltale::filter {
namespace {

constexpr size_t kMaxWords = 200;
constexpr std::chrono::seconds kPatience{5};

absl::Status Failed(const char* step, int error) {
  return absl::UnavailableError(absl::StrCat("filter host: ", step, ": ", strerror(error)));
}

// A descriptor that is none of 0 to 4 and is not inherited, so that the places the host expects its
// own in are free to be filled one after the other.
int Above(int descriptor) {
  const int above = fcntl(descriptor, F_DUPFD_CLOEXEC, kHostLibrary + 1);
  close(descriptor);
  return above;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostProcess>> HostProcess::Start(const HostOptions& options,
                                                                int library) {
  int sockets[2], words[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return Failed("socket pair", errno);
  }
  if (pipe2(words, O_CLOEXEC | O_NONBLOCK) != 0) {
    const int error = errno;
    close(sockets[0]);
    close(sockets[1]);
    return Failed("pipe", error);
  }
  const int theirs = Above(sockets[1]), told = Above(words[1]);
  const int code = fcntl(library, F_DUPFD_CLOEXEC, kHostLibrary + 1);
  if (theirs < 0 || told < 0 || code < 0) {
    const int error = errno;
    for (const int open : {theirs, told, code, sockets[0], words[0]}) {
      if (open >= 0) close(open);
    }
    return Failed("descriptors", error);
  }

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, told, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs, kHostSocket);
  posix_spawn_file_actions_adddup2(&actions, code, kHostLibrary);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string program = options.program, memory = absl::StrCat(options.memory_bytes);
  char* arguments[] = {program.data(), memory.data(), nullptr};
  char* environment[] = {nullptr};  // no secret, no library to load before
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, options.program.c_str(), &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(theirs);
  close(told);
  close(code);
  if (error != 0) {
    close(sockets[0]);
    close(words[0]);
    return Failed(options.program.c_str(), error);
  }
  std::unique_ptr<HostProcess> process(new HostProcess(options, pid, sockets[0], words[0]));
  process->Begin();
  return process;
}

HostProcess::~HostProcess() {
  Reap();
  close(socket_);
  close(words_);
}

void HostProcess::Begin() {
  begin_ = std::chrono::steady_clock::now();
  begin_cpu_ns_ = ReadCpu();
}

uint64_t HostProcess::ReadCpu() {
  const std::lock_guard lock(mutex_);
  clockid_t clock;
  timespec used = {};
  if (pid_ < 0 || clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0) {
    return cpu_ns_;
  }
  cpu_ns_ =
      static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
  return cpu_ns_;
}

absl::Status HostProcess::WithinBudget() {
  ReadWords();
  const auto cpu = std::chrono::nanoseconds(ReadCpu() - begin_cpu_ns_);
  if (cpu > options_.cpu) {
    return absl::DeadlineExceededError(
        absl::StrFormat("hung: %.1f s of processor time for one epoch, limit %.1f s",
                        std::chrono::duration<double>(cpu).count(),
                        std::chrono::duration<double>(options_.cpu).count()));
  }
  if (std::chrono::steady_clock::now() - begin_ > options_.wait) {
    return absl::DeadlineExceededError(
        absl::StrFormat("hung: no reply for %.1f s, of which it had %.1f s of processor time",
                        std::chrono::duration<double>(options_.wait).count(),
                        std::chrono::duration<double>(cpu).count()));
  }
  return absl::OkStatus();
}

absl::Status HostProcess::Write(const std::string& message) {
  if (!ended_.ok()) return ended_;
  const auto status = WriteFrame(socket_, message, [this] { return WithinBudget(); });
  return status.ok() ? status : Ended(status);
}

absl::StatusOr<std::string> HostProcess::Read() {
  if (!ended_.ok()) return ended_;
  auto message = ReadFrame(socket_, kMaxReplyBytes, [this] { return WithinBudget(); });
  // What it took since it was asked last.
  if (message.ok()) {
    if (auto status = WithinBudget(); !status.ok()) return Ended(status);
    return message;
  }
  return Ended(message.status());
}

absl::Status HostProcess::Check() {
  if (!ended_.ok()) return ended_;
  siginfo_t state = {};
  {
    const std::lock_guard lock(mutex_);
    if (pid_ > 0) waitid(P_PID, static_cast<id_t>(pid_), &state, WEXITED | WNOHANG | WNOWAIT);
  }
  return state.si_pid == 0 ? absl::OkStatus() : Ended(absl::UnavailableError("ended"));
}

void HostProcess::Kill() {
  const std::lock_guard lock(mutex_);
  if (pid_ > 0) kill(pid_, SIGKILL);
}

// What it wrote last: of most crashes the library's or compiler's own words.
void HostProcess::ReadWords() {
  char bytes[4096];
  ssize_t got;
  // What more there is waits for the next time: a filter may write for ever.
  for (int i = 0; i < 16 && (got = read(words_, bytes, sizeof bytes)) > 0; ++i) {
    last_words_.append(bytes, static_cast<size_t>(got));
    if (last_words_.size() > kMaxWords) last_words_.erase(0, last_words_.size() - kMaxWords);
  }
}

// Ends it if it has not ended; how it did.
std::string HostProcess::Reap() {
  ReadCpu();
  const std::lock_guard lock(mutex_);
  if (pid_ < 0) return "";
  kill(pid_, SIGKILL);
  int how = 0;
  waitpid(pid_, &how, 0);
  pid_ = -1;
  if (!WIFSIGNALED(how)) return absl::StrCat("ended by itself with code ", WEXITSTATUS(how));
  const int number = WTERMSIG(how);
  return absl::StrCat("crashed: signal ", number, " (", strsignal(number), ")");
}

// Its end of the socket closes a little before it can be reaped.
bool HostProcess::AwaitEnd() {
  const auto patience = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < patience) {
    siginfo_t state = {};
    {
      const std::lock_guard lock(mutex_);
      waitid(P_PID, static_cast<id_t>(pid_), &state, WEXITED | WNOHANG | WNOWAIT);
    }
    if (state.si_pid != 0) return true;
    usleep(1000);
  }
  return false;
}

absl::Status HostProcess::Ended(const absl::Status& how) {
  std::string reason(how.message());
  // Gone by itself: what the kernel says of it is the reason. Else it broke a rule and is ended.
  if (absl::IsUnavailable(how) && !AwaitEnd()) {
    reason = "closed its connection";
    Reap();
  } else if (const std::string end = Reap(); absl::IsUnavailable(how)) {
    reason = end;
  }
  ReadWords();
  if (last_words_.find(kOutOfMemory) != std::string::npos) {
    reason = absl::StrCat("out of memory, ", reason);
  }
  std::ranges::replace(last_words_, '\n', ' ');
  const std::string words =
      proto::SanitizeText(std::string(absl::StripAsciiWhitespace(last_words_)), kMaxWords);
  ended_ = absl::Status(how.code(),
                        words.empty() ? reason : absl::StrCat(reason, "; its last words: ", words));
  return ended_;
}

}  // namespace telltale::filter
