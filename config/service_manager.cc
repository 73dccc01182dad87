#include "config/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sketch/time_units.h"

namespace telltale::config {
namespace {

// A manager that asks for a day's silence still hears once an hour.
constexpr uint64_t kSlowestBeatNs = 3'600 * kNsPerS;

uint64_t MonotonicNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerS + static_cast<uint64_t>(now.tv_nsec);
}

std::string Take(const char* variable) {
  const char* value = std::getenv(variable);
  std::string taken = value == nullptr ? "" : value;
  unsetenv(variable);
  return taken;
}

}  // namespace

ServiceManager ServiceManager::FromEnvironment() {
  ServiceManager manager;
  manager.address_ = Take("NOTIFY_SOCKET");
  const std::string usec = Take("WATCHDOG_USEC"), pid = Take("WATCHDOG_PID");
  if (manager.address_.size() < 2 || manager.address_.size() >= sizeof(sockaddr_un::sun_path) ||
      (manager.address_[0] != '/' && manager.address_[0] != '@')) {
    return manager;
  }
  if (manager.address_[0] == '@') manager.address_[0] = '\0';
  manager.fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  uint64_t watchdog_us = 0;
  const bool ours = pid.empty() || pid == absl::StrCat(getpid());
  if (ours && absl::SimpleAtoi(usec, &watchdog_us) && watchdog_us > 0) {
    // A third of the time: two may be late before the manager takes this process for hung.
    manager.beat_every_ns_ = watchdog_us > kSlowestBeatNs / kNsPerUs
                                 ? kSlowestBeatNs
                                 : std::max<uint64_t>(watchdog_us * kNsPerUs / 3, 1);
  }
  return manager;
}

ServiceManager::~ServiceManager() { Leave(); }

void ServiceManager::Leave() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

ServiceManager::ServiceManager(ServiceManager&& other) noexcept
    : address_(std::move(other.address_)),
      fd_(std::exchange(other.fd_, -1)),
      beat_every_ns_(other.beat_every_ns_),
      last_beat_ns_(other.last_beat_ns_) {}

void ServiceManager::Ready(std::string_view how) {
  // A newline would begin another message.
  std::string line(how);
  std::replace(line.begin(), line.end(), '\n', ' ');
  Send(absl::StrCat("READY=1\nSTATUS=", line));
}

void ServiceManager::Stopping() { Send("STOPPING=1\nSTATUS=stopping"); }

void ServiceManager::Beat() {
  if (beat_every_ns_ == 0) return;
  const uint64_t now = MonotonicNs();
  if (last_beat_ns_ != 0 && now - last_beat_ns_ < beat_every_ns_) return;
  last_beat_ns_ = now;
  Send("WATCHDOG=1");
}

void ServiceManager::Send(const std::string& text) const {
  if (fd_ < 0) return;
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  sendto(fd_, text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to),
         length);
}

}  // namespace telltale::config
