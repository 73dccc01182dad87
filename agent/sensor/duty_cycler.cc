#include "agent/sensor/duty_cycler.h"

#include <linux/membarrier.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/clock_ns.h"
#include "sketch/time_units.h"

namespace telltale::agent {

DutyCycler::DutyCycler(CostPace pace)
    : pace_(pace), period_s_(pace.interval_s()), random_(std::random_device{}()) {}

DutyCycler::~DutyCycler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

size_t DutyCycler::AddUnit(Hooks hooks) {
  const std::lock_guard lock(mutex_);
  units_.emplace_back().hooks = std::move(hooks);
  return units_.size() - 1;
}

void DutyCycler::StartAnew(Unit& unit) {
  unit.since = Clock::now();
  unit.seen = unit.ahead = {};
}

void DutyCycler::Changed() {
  for (Unit& unit : units_) {
    if (!unit.always()) unit.hooks.gate(false);
  }
  if (changes_ == settled_) changed_ = Clock::now();
  ++changes_;
  // The thread is made when there is something to do for it.
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  wake_.notify_all();
}

void DutyCycler::SetDuty(size_t unit, uint8_t duty_log2) {
  const std::lock_guard lock(mutex_);
  units_[unit].duty_log2 = duty_log2;
  StartAnew(units_[unit]);
  Changed();
}

void DutyCycler::SetAway(size_t unit, bool away) {
  const std::lock_guard lock(mutex_);
  units_[unit].away = away;
  StartAnew(units_[unit]);
  Changed();
}

bool DutyCycler::Settled(std::chrono::milliseconds patience) {
  Lock lock(mutex_);
  return settled_now_.wait_for(lock, patience, [this] { return settled_ == changes_; });
}

void DutyCycler::Retry() {
  const std::lock_guard lock(mutex_);
  bool any = false;
  for (Unit& unit : units_) {
    unit.again = unit.always() && !unit.problem.empty();
    any = any || unit.again;
  }
  if (any) Changed();
}

std::string DutyCycler::Problem(size_t unit) const {
  const std::lock_guard lock(mutex_);
  return units_[unit].problem;
}

void DutyCycler::Attach(Lock& lock, Unit& unit) {
  if (unit.on && !unit.again) return;
  unit.again = false;
  lock.unlock();
  // Comes back after a grace period, as attaching would; but that holds the lock of the kernel that
  // taking any program off needs.
  syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
  const absl::Status status = unit.hooks.attach();
  lock.lock();
  unit.problem = std::string(status.message());
  unit.on = true;
}

void DutyCycler::Detach(Lock& lock, Unit& unit) {
  if (!unit.on) return;
  lock.unlock();
  unit.hooks.detach();
  lock.lock();
  unit.on = false;
}

void DutyCycler::Settle(Lock& lock) {
  const uint64_t asked = changes_;
  for (Unit& unit : units_) {
    if (!unit.always()) Detach(lock, unit);
  }
  for (Unit& unit : units_) {
    if (stopping_ || changes_ != asked) return;
    if (!unit.always()) continue;
    Attach(lock, unit);
    if (unit.always()) unit.hooks.gate(true);
  }
  // One-off work is no measure of what a window takes.
  cpu_ns_ = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  if (changes_ != asked) return;
  settled_ = asked;
  settled_now_.notify_all();
}

bool DutyCycler::WaitUntil(Lock& lock, Clock::time_point when) {
  return !wake_.wait_until(lock, when, [this] { return stopping_ || changes_ != settled_; });
}

void DutyCycler::Saw(Unit& unit, Clock::time_point opened) const {
  if (unit.since > opened) return;
  unit.seen += (changes_ == settled_ ? Clock::now() : changed_) - opened;
}

void DutyCycler::SettleUp() {
  const auto now = Clock::now();
  // A longer gap is not made up for: what comes after it tells nothing of what was there.
  const auto most_owed = std::chrono::nanoseconds(static_cast<int64_t>(period_s_ * kNsPerS));
  for (Unit& unit : units_) {
    if (!unit.cycled()) continue;
    unit.ahead += std::exchange(unit.seen, {}) - (now - unit.since) / (1 << unit.duty_log2);
    unit.ahead = std::max(unit.ahead, -most_owed);
    unit.since = now;
  }
}

void DutyCycler::Period(Lock& lock) {
  const auto begin = Clock::now();
  const auto length = std::chrono::nanoseconds(static_cast<int64_t>(
      period_s_ * kNsPerS * std::uniform_real_distribution<double>(0.75, 1.25)(random_)));
  OpenWindows(lock, begin, length);
  WaitUntil(lock, begin + length);
  SettleUp();
}

void DutyCycler::OpenWindows(Lock& lock, Clock::time_point begin, std::chrono::nanoseconds length) {
  std::chrono::nanoseconds longest{0};
  std::vector<Unit*> open;
  for (Unit& unit : units_) {
    if (!unit.cycled()) continue;
    const auto share = length / (1 << unit.duty_log2);
    unit.window = std::clamp(share - unit.ahead, std::chrono::nanoseconds{0}, length);
    if (unit.window.count() == 0) continue;
    longest = std::max(longest, unit.window);
    open.push_back(&unit);
  }
  const auto offset = std::chrono::nanoseconds(
      std::uniform_int_distribution<int64_t>(0, (length - longest).count())(random_));
  if (!WaitUntil(lock, begin + offset)) return;

  for (Unit* unit : open) {
    Attach(lock, *unit);
    if (changes_ != settled_) return;
  }
  std::ranges::sort(open, {}, [](const Unit* unit) { return unit->window; });
  const auto opened = Clock::now();
  for (Unit* unit : open) unit->hooks.gate(true);
  // Windows that end while another program is taken off are closed before the next one is.
  auto next = open.begin(), off = next;
  while (off != open.end() && changes_ == settled_) {
    if (off == next && !WaitUntil(lock, opened + (*next)->window)) break;
    const auto now = Clock::now();
    for (; next != open.end() && opened + (*next)->window <= now; ++next) {
      (*next)->hooks.gate(false);
      Saw(**next, opened);
    }
    Detach(lock, **off++);
  }
  if (off != open.end() || changes_ != settled_) {
    for (; next != open.end(); ++next) Saw(**next, opened);
    return;
  }
  const uint64_t cpu_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  pace_.Took(static_cast<double>(cpu_ns - cpu_ns_.exchange(cpu_ns, std::memory_order_relaxed)));
  period_s_ = pace_.interval_s();
}

void DutyCycler::Run() {
  prctl(PR_SET_NAME, "telltale-duty");
  Lock lock(mutex_);
  while (!stopping_) {
    if (changes_ != settled_) {
      Settle(lock);
    } else if (std::ranges::any_of(units_, &Unit::cycled)) {
      Period(lock);
    } else {
      wake_.wait(lock, [this] { return stopping_ || changes_ != settled_; });
    }
  }
}

}  // namespace telltale::agent
