#include "agent/supervise/supervisor.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/start_pages.h"
#include "agent/uplink/clock.h"
#include "sketch/time_units.h"
#include "spdlog/spdlog.h"

namespace telltale::agent {
namespace {

constexpr int kExitFailed = 1;
constexpr uint64_t kFirstPauseMs = 500, kLongestPauseMs = 30'000;
constexpr uint64_t kStableNs = 60'000 * kNsPerMs;
constexpr uint64_t kHearMs = 60'000, kLookMs = 1'000;
constexpr uint64_t kStopMs = 20'000;       // for the sensor process, which bounds itself below this
constexpr uint64_t kUplinkEndsMs = 1'000;  // for the uplink, after the sensor process has ended

std::string HowItEnded(int status) {
  return WIFSIGNALED(status) ? absl::StrCat("killed by signal ", WTERMSIG(status))
                             : absl::StrCat("exit code ", WEXITSTATUS(status));
}

// One of the two processes: alive, or due again at a time.
struct Child {
  pid_t pid = -1;
  uint64_t started_ns = 0;
  uint64_t due_ns = 0;
  uint64_t pause_ms = kFirstPauseMs;

  bool alive() const { return pid > 0; }
  void Started(pid_t as, uint64_t now_ns) {
    pid = as;
    started_ns = now_ns;
  }
  // The pause until it is started again, in ms.
  uint64_t Ended(uint64_t now_ns) {
    pid = -1;
    if (now_ns - started_ns >= kStableNs) pause_ms = kFirstPauseMs;
    const uint64_t pause = pause_ms;
    due_ns = now_ns + pause * kNsPerMs;
    pause_ms = std::min(2 * pause_ms, kLongestPauseMs);
    return pause;
  }
};

class Supervisor {
 public:
  explicit Supervisor(const SupervisorOptions& options) : options_(options) {}
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor() {
    for (const Child* child : {&sensor_, &uplink_}) {
      if (!child->alive()) continue;
      kill(child->pid, SIGKILL);
      waitpid(child->pid, nullptr, 0);
    }
  }

  int Run() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&signals, number);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    const OwnedFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    while (!exit_code_) {
      if (!stopping_) StartWhatIsDue();
      Exchange();
      EndWhatHangs();
      BeatAlone();
      Wait(fd);
      if (stopping_ && clock_.MonoNs() >= stop_deadline_ns_) {
        spdlog::error("agent: the sensor process did not stop within {} s, killing it",
                      kStopMs / 1'000);
        return kExitFailed;
      }
    }
    AwaitUplink();
    return *exit_code_;
  }

 private:
  void Wait(const OwnedFd& signals) {
    pollfd fds[2] = {{signals.get(), POLLIN, 0}, {-1, POLLIN, 0}};
    if (control_) fds[1].fd = control_->fd();
    if (control_ && control_->wants_write()) fds[1].events |= POLLOUT;
    poll(fds, 2, static_cast<int>(WaitMs()));
    signalfd_siginfo signal = {};
    while (read(signals.get(), &signal, sizeof(signal)) == sizeof(signal)) {
      if (signal.ssi_signo == SIGHUP) {
        if (options_.reload() && sensor_.alive()) kill(sensor_.pid, SIGHUP);
      } else if (signal.ssi_signo != SIGCHLD) {
        Stop();
      }
    }
    Reap();
  }

  uint64_t WaitMs() const {
    const uint64_t now = clock_.MonoNs();
    // While all runs there is nothing to do but to hear of it.
    const bool runs = sensor_.alive() && uplink_.alive() && !stopping_;
    uint64_t until = now + (runs ? kHearMs : kLookMs) * kNsPerMs;
    for (const Child* child : {&sensor_, &uplink_}) {
      if (!child->alive() && !stopping_) until = std::min(until, child->due_ns);
    }
    if (heard_ns_ != 0) until = std::min(until, heard_ns_ + options_.hangs_after_ns);
    return until <= now ? 0 : (until - now) / kNsPerMs + 1;
  }

  void Stop() {
    if (std::exchange(stopping_, true)) return;
    if (options_.manager != nullptr) options_.manager->Stopping();
    stop_deadline_ns_ = clock_.MonoNs() + kStopMs * kNsPerMs;
    if (sensor_.alive()) {
      kill(sensor_.pid, SIGTERM);
      return;
    }
    spdlog::warn(
        "agent: stopped while the sensor process was down; what it saw last is in the spool");
    exit_code_ = kExitFailed;
  }

  void Exchange() {
    if (!control_) return;
    auto parcels = control_->Receive();
    if (parcels.ok()) {
      for (const LinkParcel& parcel : *parcels) {
        if (parcel.message.Kind() == LinkKind::kWatching) Watching();
      }
    }
    // That its other end is gone is known from SIGCHLD too.
    if (!parcels.ok() || !control_->Flush().ok()) control_.reset();
  }

  void EndWhatHangs() {
    const uint64_t now = clock_.MonoNs();
    if (stopping_ || heard_ns_ == 0 || now < heard_ns_ + options_.hangs_after_ns) return;
    spdlog::error("agent: nothing was heard of the sensor process (pid {}) for {} s, killing it",
                  sensor_.pid, (now - heard_ns_) / kNsPerS);
    heard_ns_ = 0;
    kill(sensor_.pid, SIGKILL);
  }

  void Watching() {
    heard_ns_ = clock_.MonoNs();
    // Both others were forked: all that is left to do is to wait.
    if (!std::exchange(has_watched_, true)) LetStartPagesGo();
    if (options_.manager == nullptr) return;
    if (!std::exchange(manager_knows_, true)) options_.manager->Ready("watching " + options_.node);
    options_.manager->Beat();
  }

  // While there is no sensor process it is this one's work to start another.
  void BeatAlone() {
    if (options_.manager != nullptr && (stopping_ || !sensor_.alive())) options_.manager->Beat();
  }

  void Reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid == sensor_.pid) SensorEnded(status);
      if (pid == uplink_.pid) UplinkEnded(status);
    }
  }

  void SensorEnded(int status) {
    Exchange();  // the last it said
    control_.reset();
    heard_ns_ = 0;
    const pid_t pid = sensor_.pid;
    const uint64_t pause = sensor_.Ended(clock_.MonoNs());
    if (stopping_ || !has_watched_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailed;
      if (WIFSIGNALED(status)) {
        spdlog::error("agent: the sensor process (pid {}) ended: {}", pid, HowItEnded(status));
      }
      return;
    }
    spdlog::error(
        "agent: the sensor process (pid {}) ended: {}; starting it again in {} ms, what it had "
        "written of the running epoch becomes a partial one",
        pid, HowItEnded(status), pause);
    // Its link is cut, and it has nothing of its own: another one begins with the next sensor.
    if (uplink_.alive()) kill(uplink_.pid, SIGKILL);
    uplink_.due_ns = sensor_.due_ns;
    manager_knows_ = false;
    if (options_.manager != nullptr) {
      options_.manager->Ready("not watching: the sensor process " + HowItEnded(status));
    }
  }

  void UplinkEnded(int status) {
    const pid_t pid = uplink_.pid;
    const uint64_t pause = uplink_.Ended(clock_.MonoNs());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    // It may notice the sensor's end before this process does.
    if (stopping_ || !sensor_.alive() || code == kUplinkAlone) return;
    if (code == kUplinkCannotStart) {
      exit_code_ = kExitFailed;
      return;
    }
    spdlog::error(
        "agent: the uplink process (pid {}) ended: {}; starting it again in {} ms, watching goes "
        "on and epochs are kept in the spool",
        pid, HowItEnded(status), pause);
  }

  void StartWhatIsDue() {
    const uint64_t now = clock_.MonoNs();
    if (!sensor_.alive() && !uplink_.alive() && now >= sensor_.due_ns) StartSensor();
    if (sensor_.alive() && control_ && !uplink_.alive() && now >= uplink_.due_ns) StartUplink();
  }

  void StartSensor() {
    auto ends = Link::MakePair();
    const pid_t pid = ends.ok() ? Fork() : -1;
    if (pid == 0) {
      ends->first = OwnedFd();
      _exit(options_.run_sensor(std::move(ends->second)));
    }
    if (pid < 0) return CouldNot("sensor", ends.status(), sensor_);
    control_.emplace(std::move(ends->first));
    sensor_.Started(pid, clock_.MonoNs());
  }

  void StartUplink() {
    auto ends = Link::MakePair();
    const pid_t pid = ends.ok() ? Fork() : -1;
    if (pid == 0) {
      ends->first = OwnedFd();
      control_.reset();
      _exit(options_.run_uplink(std::move(ends->second)));
    }
    if (pid < 0) return CouldNot("uplink", ends.status(), uplink_);
    uplink_.Started(pid, clock_.MonoNs());
    control_->Send(LinkMessage(LinkKind::kUplinkStarted, {static_cast<uint64_t>(pid)}),
                   std::move(ends->first));
  }

  // As fork, but the child ends when its parent does. The signals stay blocked: one that comes
  // before the child listens waits for it.
  pid_t Fork() {
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kExitFailed);
    return 0;
  }

  void CouldNot(const char* what, const absl::Status& status, Child& child) {
    const std::string why = status.ok() ? std::strerror(errno) : std::string(status.message());
    const uint64_t pause = child.Ended(clock_.MonoNs());
    spdlog::error("agent: fork the {} process: {}; trying again in {} ms", what, why, pause);
  }

  // It has said goodbye, or will never.
  void AwaitUplink() {
    const uint64_t deadline = clock_.MonoNs() + kUplinkEndsMs * kNsPerMs;
    for (Reap(); uplink_.alive() && clock_.MonoNs() < deadline; Reap()) {
      poll(nullptr, 0, 10);
    }
  }

  const SupervisorOptions& options_;
  const SystemClock clock_;
  Child sensor_, uplink_;
  std::optional<Link> control_;  // to the sensor process
  bool has_watched_ = false;     // a sensor process once got that far
  bool manager_knows_ = false;   // that this one watches
  uint64_t heard_ns_ = 0;        // last of the sensor process, once it watches; 0: not yet
  bool stopping_ = false;
  uint64_t stop_deadline_ns_ = 0;
  std::optional<int> exit_code_;
};

}  // namespace

int RunSupervisor(const SupervisorOptions& options) {
  Supervisor supervisor(options);
  return supervisor.Run();
}

}  // namespace telltale::agent
