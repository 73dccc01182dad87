#include "collector/control_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "spdlog/spdlog.h"

namespace telltale::collector {
namespace {

constexpr char kName[] = "control";
constexpr size_t kMostLine = 8192;                // PATH_MAX and a word
constexpr int kPollMs = 200;                      // how soon an end is noticed
constexpr int kRequestMs = 5'000;                 // for the asker's line
constexpr auto kLeave = std::chrono::seconds(5);  // another asker may be before this one
constexpr auto kProgressEvery = std::chrono::milliseconds(200);

absl::Status Failed(const std::string& data, const char* step) {
  return absl::UnavailableError(
      absl::StrCat("control: ", data, "/", kName, ": ", step, ": ", std::strerror(errno)));
}

// The directory's own path may be longer than a socket's may be.
struct At {
  explicit At(const std::string& data) : directory(open(data.c_str(), O_PATH | O_CLOEXEC)) {
    address.sun_family = AF_UNIX;
    const std::string path = absl::StrCat("/proc/self/fd/", directory, "/", kName);
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  }
  ~At() {
    if (directory >= 0) close(directory);
  }
  At(const At&) = delete;
  At& operator=(const At&) = delete;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  const int directory;
  sockaddr_un address = {};
};

bool Send(int fd, const std::string& line) {
  size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t now = send(fd, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return false;
    sent += static_cast<size_t>(now);
  }
  return true;
}

// Lines as they come; nothing: the other end is gone, silent for too long, or says too much.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) {}
  // Whether there is something to read, were it the end.
  bool Await(int timeout_ms) const {
    pollfd readable = {fd_, POLLIN, 0};
    return !text_.empty() || poll(&readable, 1, timeout_ms) == 1;
  }
  std::optional<std::string> Next(int timeout_ms) {
    while (true) {
      if (const size_t end = text_.find('\n'); end != std::string::npos) {
        std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return line;
      }
      pollfd readable = {fd_, POLLIN, 0};
      char bytes[1024];
      if (text_.size() > kMostLine || poll(&readable, 1, timeout_ms) != 1) return std::nullopt;
      const ssize_t got = recv(fd_, bytes, sizeof bytes, 0);
      if (got <= 0) return std::nullopt;
      text_.append(bytes, static_cast<size_t>(got));
    }
  }

 private:
  const int fd_;
  std::string text_;
};

bool IsOwner(int peer) {
  ucred who = {};
  socklen_t size = sizeof who;
  return getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
         (who.uid == geteuid() || who.uid == 0);
}

// Whether the asker is gone or wants no more (Leave).
bool HungUp(int peer) {
  pollfd end = {peer, POLLRDHUP, 0};
  return poll(&end, 1, 0) == 1 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// Says that nothing more is wanted, and waits until the collector has ended what it was at: whoever
// removes what it made would be in its way before.
void Leave(int fd, Lines& lines) {
  shutdown(fd, SHUT_WR);
  const auto until = std::chrono::steady_clock::now() + kLeave;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !lines.Next(static_cast<int>(left.count())).has_value()) return;
  }
}

std::string OneLine(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return line;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlSocket>> ControlSocket::Listen(const std::string& data,
                                                                     BackUp back_up) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Failed(data, "socket");
  const At at(data);
  unlink(at.address.sun_path);
  // Nobody can connect before it listens.
  if (bind(fd, at.get(), sizeof at.address) != 0 || chmod(at.address.sun_path, 0600) != 0 ||
      listen(fd, 4) != 0) {
    const absl::Status failed = Failed(data, "listen");
    close(fd);
    return failed;
  }
  return std::unique_ptr<ControlSocket>(new ControlSocket(fd, std::move(back_up)));
}

ControlSocket::ControlSocket(int fd, BackUp back_up)
    : fd_(fd), back_up_(std::move(back_up)), thread_([this] { Run(); }) {}

ControlSocket::~ControlSocket() {
  stopping_ = true;
  thread_.join();
  close(fd_);
}

void ControlSocket::Run() {
  while (!stopping_) {
    pollfd waiting = {fd_, POLLIN, 0};
    if (poll(&waiting, 1, kPollMs) != 1) continue;
    const int peer = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) continue;
    if (IsOwner(peer)) Serve(peer);
    close(peer);
  }
}

void ControlSocket::Serve(int peer) {
  const std::string line = Lines(peer).Next(kRequestMs).value_or("");
  absl::string_view to = line;
  if (!absl::ConsumePrefix(&to, "backup /")) {
    Send(peer, absl::StrCat("error ", static_cast<int>(absl::StatusCode::kInvalidArgument),
                            " control: want \"backup /DIR\"\n"));
    return;
  }
  const std::string to_data = absl::StrCat("/", to);
  if (HungUp(peer)) return;  // before its turn came
  spdlog::info("backup: to {} begins", to_data);
  auto told = std::chrono::steady_clock::now();
  const auto copied = back_up_(to_data, [&](uint64_t done, uint64_t total) {
    if (stopping_ || HungUp(peer)) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now - told < kProgressEvery) return true;
    told = now;
    return Send(peer, absl::StrCat("progress ", done, " ", total, "\n"));
  });
  if (copied.ok() && HungUp(peer)) {
    std::error_code error;
    std::filesystem::remove_all(to_data + "/store", error);
    if (error) {
      spdlog::error(
          "backup: remove {}/store, which nobody waits for any more: {}; remove it by hand",
          to_data, error.message());
    } else {
      spdlog::info("backup: {}/store is removed again, nobody waits for it any more", to_data);
    }
    return;
  }
  if (copied.ok()) {
    spdlog::info("backup: {} is whole, {} files, {} bytes", to_data, copied->files, copied->bytes);
    Send(peer,
         absl::StrCat("done ", copied->files, " ", copied->bytes, " ", copied->linked_bytes, "\n"));
    return;
  }
  spdlog::error("backup: {}", std::string(copied.status().message()));
  Send(peer, absl::StrCat("error ", static_cast<int>(copied.status().code()), " ",
                          OneLine(std::string(copied.status().message())), "\n"));
}

absl::StatusOr<storage::CopyResult> AskForBackup(const std::string& data,
                                                 const std::string& to_data,
                                                 const storage::CopyWatcher& watch) {
  if (to_data.find('\n') != std::string::npos) {
    return absl::InvalidArgumentError("back up: the directory's name has a line break in it");
  }
  const At at(data);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, at.get(), sizeof at.address) != 0) {
    const int why = errno;
    if (fd >= 0) close(fd);
    errno = why;
    if (why == ENOENT || why == ECONNREFUSED || why == ENOTDIR) {
      return absl::NotFoundError(absl::StrCat("control: no collector runs on ", data));
    }
    return Failed(data, "connect");
  }
  absl::StatusOr<storage::CopyResult> result = absl::UnavailableError(
      absl::StrCat("back up to ", to_data, ": the collector ended before it was done"));
  Lines lines(fd);
  if (Send(fd, absl::StrCat("backup ", to_data, "\n"))) {
    uint64_t done = 0, total = 0;
    while (true) {
      // The first word may be long in coming: another asker, or the files of a large store, come
      // before it.
      if (!lines.Await(kPollMs)) {
        if (!watch || watch(done, total)) continue;
        result = absl::CancelledError(absl::StrCat("back up to ", to_data, ": stopped"));
        break;
      }
      const auto line = lines.Next(kRequestMs);
      if (!line.has_value()) break;
      const std::vector<std::string> words = absl::StrSplit(*line, absl::MaxSplits(' ', 3));
      const auto number = [&words](size_t i) {
        uint64_t value = 0;
        return i < words.size() && absl::SimpleAtoi(words[i], &value) ? value : 0;
      };
      if (words[0] == "progress") {
        done = number(1);
        total = number(2);
        if (!watch || watch(done, total)) continue;
        result = absl::CancelledError(absl::StrCat("back up to ", to_data, ": stopped"));
        break;
      }
      if (words[0] == "done") {
        result = storage::CopyResult{number(1), number(2), number(3)};
        break;
      }
      if (words[0] == "error") {
        const size_t text = line->find(' ', sizeof "error");
        result = absl::Status(static_cast<absl::StatusCode>(number(1)),
                              text == std::string::npos ? *line : line->substr(text + 1));
        break;
      }
    }
  }
  if (absl::IsCancelled(result.status())) Leave(fd, lines);
  close(fd);
  return result;
}

}  // namespace telltale::collector
