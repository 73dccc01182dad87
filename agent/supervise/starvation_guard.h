// Puts the threads of this process before ordinary tasks while the host lets them starve.
//
// A host can leave ordinary tasks without a CPU for tens of seconds: real-time tasks on all CPUs,
// or a scheduler that favours a storm (Linux 6.18 beside `stress-ng --get 2 --switch 2`: 28 s, at
// nice -20 and in a session put before others, too). All that time the sensor would cost what it
// costs, for its governor cannot turn it down, and the epoch people will ask for would not be cut.
//
// A thread of real-time priority looks twice a second. What stands in the queue for a CPU and has
// not run from one look to the next gets a real-time priority, the lowest, until it has run, and
// then queues again like others: a thread goes before others for a tenth of a second at a time, and
// not twice within half a second. What is looked at is one open file a thread; which threads there
// are is looked up again when their number has changed or one is gone.
//
// Owned by the process; all calls from the thread that made it, but GetStats(): any thread.

#ifndef TELLTALE_AGENT_SUPERVISE_STARVATION_GUARD_H_
#define TELLTALE_AGENT_SUPERVISE_STARVATION_GUARD_H_

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "agent/owned_fd.h"

namespace telltale::agent {

class StarvationGuard {
 public:
  struct Options {
    std::chrono::milliseconds look_every{500};
    std::chrono::milliseconds first_for{100};  // about: until the look that finds it has run
    int priority = 1;                          // of those put first; the guard's own is one more
  };
  struct Stats {
    uint64_t rescues = 0;     // times a thread was put first
    uint64_t refused = 0;     // times the kernel did not let it
    uint64_t starved_ns = 0;  // how long those stood in the queue without running, at least
  };

  explicit StarvationGuard(Options options);
  ~StarvationGuard();
  StarvationGuard(const StarvationGuard&) = delete;
  StarvationGuard& operator=(const StarvationGuard&) = delete;

  // Before CAP_SYS_NICE is given up: the guard's thread keeps it, and no other capability.
  // PermissionDenied without it, or in a cgroup without real-time bandwidth (cpu.rt_runtime_us);
  // Unavailable: this kernel does not tell how long a thread has run (CONFIG_SCHED_INFO). Once.
  absl::Status Start();
  Stats GetStats() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Queued {
    uint64_t ran_ns = 0;  // CPU time when it was first found in the queue
    Clock::time_point since;
    bool first = false;  // it was put first
  };
  struct Watched {
    OwnedFd stat;                  // its file in /proc, open as long as it is watched
    std::optional<Queued> queued;  // it stood there at the last look
  };
  void Run();
  void List();
  void Look(Clock::time_point now);
  void LookAt(pid_t thread, bool runnable, std::optional<Queued>& queued, Clock::time_point now);
  void PutFirst(pid_t thread, Queued& queued, Clock::time_point now);
  bool AnyFirst() const;

  const Options options_;
  std::map<pid_t, Watched> watched_;  // guard's thread; all other threads
  pid_t own_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  absl::Status started_;
  bool ready_ = false, stopping_ = false;
  Stats stats_;
  std::thread thread_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_STARVATION_GUARD_H_
