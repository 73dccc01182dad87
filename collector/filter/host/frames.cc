#include "collector/filter/host/frames.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace telltale::filter {
namespace {

constexpr int kTickMs = 50;  // between two questions to `may_wait`
constexpr size_t kPieceBytes = 256 * 1024;

absl::Status Gone(const char* step) {
  return absl::UnavailableError(absl::StrCat("filter host: ", step, ": the other side is gone"));
}

// Until the socket is ready for it. Asks also of one that always is, byte by byte.
absl::Status Await(int socket, short events, const MayWait& may_wait) {
  pollfd ready = {.fd = socket, .events = events, .revents = 0};
  do {
    if (!may_wait) continue;
    if (auto status = may_wait(); !status.ok()) return status;
  } while (poll(&ready, 1, may_wait ? kTickMs : -1) == 0);
  return absl::OkStatus();
}

absl::Status ReadBytes(int socket, char* bytes, size_t size, const MayWait& may_wait) {
  while (size > 0) {
    if (auto status = Await(socket, POLLIN, may_wait); !status.ok()) return status;
    const ssize_t got = recv(socket, bytes, size, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return Gone("read");
    bytes += got;
    size -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::Status WriteBytes(int socket, const char* bytes, size_t size, const MayWait& may_wait) {
  while (size > 0) {
    if (auto status = Await(socket, POLLOUT, may_wait); !status.ok()) return status;
    const ssize_t put = send(socket, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (put <= 0) return Gone("write");
    bytes += put;
    size -= static_cast<size_t>(put);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteFrame(int socket, const std::string& message, const MayWait& may_wait) {
  const uint32_t size = static_cast<uint32_t>(message.size());
  char head[4];
  for (int i = 0; i < 4; ++i) head[i] = static_cast<char>(size >> (8 * i));
  if (auto status = WriteBytes(socket, head, sizeof head, may_wait); !status.ok()) return status;
  return WriteBytes(socket, message.data(), message.size(), may_wait);
}

absl::StatusOr<std::string> ReadFrame(int socket, size_t limit, const MayWait& may_wait) {
  unsigned char head[4];
  if (auto status = ReadBytes(socket, reinterpret_cast<char*>(head), sizeof head, may_wait);
      !status.ok()) {
    return status;
  }
  size_t size = 0;
  for (int i = 0; i < 4; ++i) size |= size_t{head[i]} << (8 * i);
  if (size > limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("filter host: a message of ", size, " bytes, limit ", limit));
  }
  std::string message;
  while (message.size() < size) {
    const size_t begin = message.size();
    message.resize(begin + std::min(kPieceBytes, size - begin));
    if (auto status = ReadBytes(socket, message.data() + begin, message.size() - begin, may_wait);
        !status.ok()) {
      return status;
    }
  }
  return message;
}

}  // namespace telltale::filter
