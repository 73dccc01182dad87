#include "agent/supervise/link.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

absl::Status Gone(const char* step) {
  return absl::UnavailableError(
      absl::StrCat("agent: ", step, " the other process: ", std::strerror(errno)));
}

}  // namespace

LinkMessage::LinkMessage(LinkKind k, std::initializer_list<uint64_t> values, std::string_view t)
    : kind(static_cast<uint32_t>(k)) {
  std::copy_n(values.begin(), std::min(values.size(), kValues), value);
  std::copy_n(t.begin(), std::min(t.size(), kTextBytes), text);
}

std::string LinkMessage::Text() const { return std::string(text, strnlen(text, kTextBytes)); }

absl::StatusOr<std::pair<OwnedFd, OwnedFd>> Link::MakePair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) {
    return Gone("connect to");
  }
  return std::pair(OwnedFd(fds[0]), OwnedFd(fds[1]));
}

void Link::Send(const LinkMessage& message, OwnedFd fd) {
  outbox_.push_back({message, std::move(fd)});
}

absl::Status Link::Flush() {
  while (!outbox_.empty()) {
    LinkParcel& parcel = outbox_.front();
    iovec part = {&parcel.message, sizeof(parcel.message)};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (parcel.fd.valid()) {
      header.msg_control = control;
      header.msg_controllen = sizeof(control);
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      const int fd = parcel.fd.get();
      std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    }
    if (sendmsg(fd_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return Gone("send to");
      if (outbox_.size() <= kMaxOutbox) return absl::OkStatus();
      return absl::UnavailableError(absl::StrCat("agent: the other process takes no messages, ",
                                                 outbox_.size(), " wait, limit ", kMaxOutbox));
    }
    outbox_.pop_front();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LinkParcel>> Link::Receive() {
  std::vector<LinkParcel> parcels;
  while (true) {
    LinkParcel parcel;
    iovec part = {&parcel.message, sizeof(parcel.message)};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    const ssize_t got = recvmsg(fd_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return parcels;
    if (got < 0) return Gone("receive from");
    if (got == 0) {
      if (!parcels.empty()) return parcels;  // the end comes again at the next call
      return absl::UnavailableError("agent: the other process ended");
    }
    if (const cmsghdr* rights = CMSG_FIRSTHDR(&header);
        rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof(int))) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
      parcel.fd = OwnedFd(fd);
    }
    if (got != sizeof(parcel.message)) continue;  // no message of ours
    parcels.push_back(std::move(parcel));
  }
}

absl::StatusOr<OwnedFd> MakeMemoryFile(std::string_view bytes) {
  OwnedFd fd(memfd_create("telltale", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return Gone("make a memory file for");
  while (!bytes.empty()) {
    const ssize_t written = write(fd.get(), bytes.data(), bytes.size());
    if (written < 0) return Gone("fill a memory file for");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return fd;
}

absl::StatusOr<std::string> ReadMemoryFile(const OwnedFd& fd, size_t max_bytes) {
  struct stat info = {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 ||
      static_cast<uint64_t>(info.st_size) > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "agent: memory file from the other process: not there or over ", max_bytes, " bytes"));
  }
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  const ssize_t got = pread(fd.get(), bytes.data(), bytes.size(), 0);
  if (got != static_cast<ssize_t>(bytes.size())) return Gone("read a memory file of");
  return bytes;
}

}  // namespace telltale::agent
