// Attaches kernel programs part of the time. A tracepoint costs its dispatch whatever the program
// does, so only a program that is not there saves anything (sensor facts, section 3).
//
// Time is divided into periods of random length, and each has a window at a random moment, so that
// no load that repeats itself can hide. All units are attached first, which may take the kernel a
// while; then they are let count, each for 1/2^k of the period, and what is seen stands for 2^k
// times as much (inverse-probability weights, applied in the kernel: telltale_knobs.duty_log2).
// What a busy host makes of that, windows that end late and periods that attaching lengthens, is
// made up for by shorter and longer windows after it. Where attaching is dear (system calls: the
// kernel goes through all threads of the host) periods are longer.
//
// A thread of its own attaches and detaches, since the kernel may take long over either: a program
// comes back to a hook only after a grace period of RCU, and on a host that lets ordinary tasks
// starve there is none for seconds (7.6 s seen in a storm of switches). Nothing else waits for it.
// Owned by the sensor; all calls from its thread.

#ifndef TELLTALE_AGENT_SENSOR_DUTY_CYCLER_H_
#define TELLTALE_AGENT_SENSOR_DUTY_CYCLER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/sensor/cost_pace.h"

namespace telltale::agent {

class DutyCycler {
 public:
  // How long a period is on average, by what attaching and detaching in one takes.
  explicit DutyCycler(CostPace pace);
  ~DutyCycler();
  DutyCycler(const DutyCycler&) = delete;
  DutyCycler& operator=(const DutyCycler&) = delete;

  // Programs that come and go together. They are attached when they are added. Those that must stay
  // on their hooks have a gate alone, and nothing to attach.
  struct Hooks {
    std::function<absl::Status()> attach;  // by the cycler's thread; may take long
    std::function<void()> detach;          // the same
    std::function<void(bool open)> gate;   // whether they may count; must only store; any thread
  };
  // Returns the unit's index. Only before the first SetDuty or SetAway.
  size_t AddUnit(Hooks hooks);

  // 1/2^duty_log2 of the time; 0: always. What is to be seen less stops counting at once, what is
  // to be seen always counts when it is attached. Does not wait for that.
  void SetDuty(size_t unit, uint8_t duty_log2);
  // Not at all, whatever the duty; or as before.
  void SetAway(size_t unit, bool away);
  // Until all is as it was asked for, or so long. False: it is not yet.
  bool Settled(std::chrono::milliseconds patience);

  // CPU time this thread has used: what attaching and detaching cost.
  uint64_t CpuNs() const { return cpu_ns_.load(std::memory_order_relaxed); }
  // From one window to the next, on average.
  double period_s() const { return period_s_.load(std::memory_order_relaxed); }
  // Tries again what ought to be there all the time and could not be attached.
  void Retry();
  // Why a unit could not be attached; empty: it can. Tried again in each period.
  std::string Problem(size_t unit) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Unit {
    Hooks hooks;
    uint8_t duty_log2 = 0;
    bool away = false;
    bool again = false;                  // its attaching failed, and is to be tried again
    bool on = true;                      // cycler's thread
    Clock::time_point since;             // its duty was set, or was last settled up with
    std::chrono::nanoseconds seen{0};    // since then
    std::chrono::nanoseconds ahead{0};   // seen longer than its share before; negative: owed
    std::chrono::nanoseconds window{0};  // of this period; 0: none
    std::string problem;
    bool cycled() const { return duty_log2 != 0 && !away; }
    bool always() const { return duty_log2 == 0 && !away; }
  };
  using Lock = std::unique_lock<std::mutex>;
  void Run();
  // Nothing is owed of what was before.
  static void StartAnew(Unit& unit);
  // What was asked for has changed: no window goes on.
  void Changed();
  // Attaches and detaches as was asked for; again if that changes meanwhile.
  void Settle(Lock& lock);
  // These leave the lock while the kernel works.
  void Attach(Lock& lock, Unit& unit);
  void Detach(Lock& lock, Unit& unit);
  // One period: cut short by a change.
  void Period(Lock& lock);
  void OpenWindows(Lock& lock, Clock::time_point begin, std::chrono::nanoseconds length);
  // Its window, which began then, ended now or when something changed.
  void Saw(Unit& unit, Clock::time_point opened) const;
  // How long each was seen of the time that passed, against its share.
  void SettleUp();
  bool WaitUntil(Lock& lock, Clock::time_point when);  // false: cut short

  CostPace pace_;
  std::atomic<double> period_s_;
  std::minstd_rand random_;
  std::atomic<uint64_t> cpu_ns_ = 0;
  mutable std::mutex mutex_;  // never held while the kernel works
  std::condition_variable wake_, settled_now_;
  std::vector<Unit> units_;
  uint64_t changes_ = 0, settled_ = 0;  // settled_: those changes that are done
  Clock::time_point changed_;           // the first that is not done was asked for
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_DUTY_CYCLER_H_
