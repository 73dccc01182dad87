#include "agent/supervise/status_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxAnswerBytes = 1 << 20;
constexpr int kBacklog = 8;

absl::Status Failed(const char* step, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("status: ", step, " ", path, ": ", std::strerror(errno)));
}

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("status: socket path of ", path.size(),
                                                   " bytes, limit ", sizeof(address.sun_path) - 1,
                                                   "; choose a shorter status_socket"));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

int Connect(int fd, const sockaddr_un& address) {
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StatusServer>> StatusServer::Listen(
    const std::string& path, std::function<std::string()> answer) {
  const auto address = AddressOf(path);
  if (!address.ok()) return address.status();
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) mkdir(path.substr(0, slash).c_str(), 0755);
  const OwnedFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (Connect(probe.get(), *address) == 0) {
    return absl::AlreadyExistsError(absl::StrCat(
        "status: socket ", path, ": another agent answers there; stop it or set status_socket"));
  }
  struct stat info = {};
  if (lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) unlink(path.c_str());
  OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid() ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0 ||
      chmod(path.c_str(), 0660) != 0 || listen(fd.get(), kBacklog) != 0) {
    return Failed("listen on", path);
  }
  return std::unique_ptr<StatusServer>(new StatusServer(path, std::move(fd), std::move(answer)));
}

StatusServer::~StatusServer() { unlink(path_.c_str()); }

void StatusServer::Serve() {
  while (true) {
    const OwnedFd peer(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer.valid()) return;
    const std::string text = answer_();
    const int room = static_cast<int>(kMaxAnswerBytes);
    setsockopt(peer.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    // Fits the buffer or is cut: a reader that does not read cannot hold the agent.
    (void)!send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
}

absl::StatusOr<std::string> AskStatus(const std::string& path) {
  const auto address = AddressOf(path);
  if (!address.ok()) return address.status();
  const OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience = {.tv_sec = 5, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  if (Connect(fd.get(), *address) != 0) {
    return absl::UnavailableError(absl::StrCat("status: connect to ", path, ": ",
                                               std::strerror(errno),
                                               "; does an agent run with this status_socket?"));
  }
  std::string text;
  char part[4096];
  while (text.size() < kMaxAnswerBytes) {
    const ssize_t got = read(fd.get(), part, sizeof(part));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read from", path);
    if (got == 0) break;
    text.append(part, static_cast<size_t>(got));
  }
  return text;
}

}  // namespace telltale::agent
