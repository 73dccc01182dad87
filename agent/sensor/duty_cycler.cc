#include "agent/sensor/duty_cycler.h"

#include <sys/prctl.h>

#include <algorithm>

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

size_t DutyCycler::AddUnit(BpfGroup* group, std::vector<std::string> programs,
                           std::function<void(bool)> gate) {
  const std::lock_guard lock(mutex_);
  Unit unit;
  unit.group = group;
  unit.programs = std::move(programs);
  unit.gate = std::move(gate);
  units_.push_back(std::move(unit));
  return units_.size() - 1;
}

// As it is outside of windows.
void DutyCycler::Settle(Unit& unit) {
  if (unit.cycled() || unit.away) {
    unit.gate(false);
    Detach(unit);
  } else {
    Attach(unit);
    unit.gate(true);
  }
}

void DutyCycler::SetDuty(size_t unit, uint8_t duty_log2) {
  {
    const std::lock_guard lock(mutex_);
    units_[unit].duty_log2 = duty_log2;
    units_[unit].late = {};
    for (Unit& each : units_) Settle(each);  // a period going on ends here
    ++changes_;
    // The thread is made when there is something to do for it.
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  }
  wake_.notify_all();
}

void DutyCycler::SetAway(size_t unit, bool away) {
  {
    const std::lock_guard lock(mutex_);
    units_[unit].away = away;
    for (Unit& each : units_) Settle(each);
    ++changes_;
  }
  wake_.notify_all();
}

void DutyCycler::Retry() {
  const std::lock_guard lock(mutex_);
  for (Unit& unit : units_) {
    if (unit.cycled() || unit.away || unit.problem.empty()) continue;
    unit.on = false;
    Attach(unit);
  }
}

std::string DutyCycler::Problem(size_t unit) const {
  const std::lock_guard lock(mutex_);
  return units_[unit].problem;
}

void DutyCycler::Attach(Unit& unit) {
  if (unit.on) return;
  unit.problem.clear();
  for (const std::string& program : unit.programs) {
    if (const absl::Status status = unit.group->Attach(program); !status.ok()) {
      unit.problem = std::string(status.message());
    }
  }
  unit.on = true;
}

void DutyCycler::Detach(Unit& unit) {
  if (!unit.on) return;
  for (const std::string& program : unit.programs) unit.group->Detach(program);
  unit.on = false;
}

bool DutyCycler::WaitUntil(std::unique_lock<std::mutex>& lock, Clock::time_point when) {
  const uint64_t changes = changes_;
  return !wake_.wait_until(lock, when, [&] { return stopping_ || changes_ != changes; });
}

bool DutyCycler::Period(std::unique_lock<std::mutex>& lock) {
  const auto begin = Clock::now();
  const auto length = std::chrono::nanoseconds(static_cast<int64_t>(
      period_s_ * kNsPerS * std::uniform_real_distribution<double>(0.75, 1.25)(random_)));
  std::chrono::nanoseconds longest{0};
  std::vector<Unit*> open;
  for (Unit& unit : units_) {
    if (!unit.cycled()) continue;
    const auto share = length / (1 << unit.duty_log2);
    unit.window = std::max(share - unit.late, std::chrono::nanoseconds{0});
    unit.late -= share - unit.window;
    if (unit.window.count() == 0) continue;
    longest = std::max(longest, unit.window);
    open.push_back(&unit);
  }
  const auto offset = std::chrono::nanoseconds(std::uniform_int_distribution<int64_t>(
      0, std::max<int64_t>((length - longest).count(), 0))(random_));
  if (!WaitUntil(lock, begin + offset)) return false;

  for (Unit* unit : open) Attach(*unit);
  std::ranges::sort(open, {}, [](const Unit* unit) { return unit->window; });
  const auto opened = Clock::now();
  for (Unit* unit : open) unit->gate(true);
  for (Unit* unit : open) {
    if (!WaitUntil(lock, opened + unit->window)) return false;
    unit->gate(false);
    unit->late += Clock::now() - opened - unit->window;
    Detach(*unit);
  }
  const uint64_t cpu_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  pace_.Took(static_cast<double>(cpu_ns - cpu_ns_.exchange(cpu_ns, std::memory_order_relaxed)));
  period_s_ = pace_.interval_s();
  return WaitUntil(lock, begin + length);
}

void DutyCycler::Run() {
  prctl(PR_SET_NAME, "telltale-duty");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (std::ranges::any_of(units_, &Unit::cycled)) {
      Period(lock);
    } else {
      wake_.wait(lock, [this] { return stopping_ || std::ranges::any_of(units_, &Unit::cycled); });
    }
  }
}

}  // namespace telltale::agent
