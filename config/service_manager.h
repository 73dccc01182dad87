// The service manager that started this process, systemd: it is told that the program is ready, how
// it is, that it lives and that it stops, as sd_notify(3) describes, by datagrams to the socket in
// NOTIFY_SOCKET. Without that variable every call does nothing.
//
// Values are small and sending never waits; one that cannot be sent is lost, the next one counts.
// One thread: the one whose life is shown.

#ifndef TELLTALE_CONFIG_SERVICE_MANAGER_H_
#define TELLTALE_CONFIG_SERVICE_MANAGER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace telltale::config {

class ServiceManager {
 public:
  // Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment: programs this one
  // starts do not speak for it. Before any thread is made.
  static ServiceManager FromEnvironment();
  ~ServiceManager();
  ServiceManager(ServiceManager&& other) noexcept;
  ServiceManager& operator=(ServiceManager&&) = delete;

  // `how` is what `systemctl status` shows, one line. Said again it only changes the line.
  void Ready(std::string_view how);
  void Stopping();
  // Says that this process lives, as often as the watchdog wants it and no oftener; call it
  // some times as often, and only while the work goes on.
  void Beat();
  // 0: there is no watchdog.
  uint64_t beat_every_ns() const { return beat_every_ns_; }
  // In a child that was forked: it does not speak for its parent.
  void Leave();

 private:
  ServiceManager() = default;
  void Send(const std::string& text) const;

  std::string address_;  // of the socket; begins with a zero byte where it is an abstract one
  int fd_ = -1;
  uint64_t beat_every_ns_ = 0;  // 0: there is no watchdog
  uint64_t last_beat_ns_ = 0;   // CLOCK_MONOTONIC
};

}  // namespace telltale::config

#endif  // TELLTALE_CONFIG_SERVICE_MANAGER_H_
