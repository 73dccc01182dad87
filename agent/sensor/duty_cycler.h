// Attaches kernel programs part of the time. A tracepoint costs its dispatch whatever the program
// does, so only a program that is not there saves anything (sensor facts, section 3).
//
// Time is divided into periods of random length, and each has a window at a random moment, so that
// no load that repeats itself can hide. All units are attached first, which may take the kernel a
// while; then they are let count, each for 1/2^k of the period, and what is seen stands for 2^k
// times as much (inverse-probability weights, applied in the kernel: telltale_knobs.duty_log2). A
// window that ended late on a busy host is made up for by shorter ones after it. Where attaching is
// dear (system calls: the kernel goes through all threads of the host) periods are longer.
//
// A thread of its own, since attaching waits for the kernel's grace periods. Owned by the sensor;
// all calls from its thread.

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

#include "agent/sensor/bpf_group.h"
#include "agent/sensor/cost_pace.h"

namespace telltale::agent {

class DutyCycler {
 public:
  // How long a period is on average, by what attaching and detaching in one takes.
  explicit DutyCycler(CostPace pace);
  ~DutyCycler();
  DutyCycler(const DutyCycler&) = delete;
  DutyCycler& operator=(const DutyCycler&) = delete;

  // A set of programs of one group that come and go together. The group outlives this. `gate` says
  // whether they may count; it is called by the thread too and must only store. Returns its index.
  // Only before the first SetDuty.
  size_t AddUnit(BpfGroup* group, std::vector<std::string> programs,
                 std::function<void(bool open)> gate);

  // 1/2^duty_log2 of the time; 0: always. At once.
  void SetDuty(size_t unit, uint8_t duty_log2);
  // Not at all, whatever the duty; or as before.
  void SetAway(size_t unit, bool away);

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
    BpfGroup* group;
    std::vector<std::string> programs;
    std::function<void(bool)> gate;
    uint8_t duty_log2 = 0;
    bool away = false;
    bool on = true;
    std::chrono::nanoseconds late{0};    // seen longer than its share so far
    std::chrono::nanoseconds window{0};  // of this period; 0: none
    std::string problem;
    bool cycled() const { return duty_log2 != 0 && !away; }
  };
  void Run();
  void Settle(Unit& unit);
  void Attach(Unit& unit);
  void Detach(Unit& unit);
  // One period: false if it was cut short by a change.
  bool Period(std::unique_lock<std::mutex>& lock);
  bool WaitUntil(std::unique_lock<std::mutex>& lock, Clock::time_point when);

  CostPace pace_;
  std::atomic<double> period_s_;
  std::minstd_rand random_;
  std::atomic<uint64_t> cpu_ns_ = 0;
  mutable std::mutex mutex_;  // held while programs are attached: SetDuty waits for that
  std::condition_variable wake_;
  std::vector<Unit> units_;
  uint64_t changes_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_DUTY_CYCLER_H_
