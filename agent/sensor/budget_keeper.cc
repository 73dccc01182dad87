#include "agent/sensor/budget_keeper.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "agent/clock_ns.h"
#include "agent/governor/cost_model.h"
#include "agent/sensor/control_words.h"
#include "agent/vitals/vitals.h"
#include "sketch/time_units.h"
#include "spdlog/spdlog.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kAlways = 1'000'000;
// Of a vital's tokens on a CPU at the begin of an epoch: two fifths of what lets each cell of the
// sketch have its first sample. Rare events are cheap, and their few labels need no more.
constexpr uint32_t kLeastBurst = TELLTALE_COLUMNS / 2;
constexpr double kAttachShare = 0.1;  // of the budget, about, for taking all units off and on
constexpr double kOftenS = 1, kSeldomS = 10;  // seconds from one window to the next
constexpr double kTellEveryNs = 10e9;
constexpr std::chrono::milliseconds kBackAgain{200};
constexpr uint64_t kAttachAgainNs = 10'000'000'000;  // what the kernel refused

struct Cycled {
  Part part;
  const char* object;
  std::vector<std::string> programs;  // empty: all of the group's
  bool stays = false;                 // on its hooks: it does more than count
};

// A wait for a lock is found by its begin: one that began in a window is counted however long it
// takes.
const std::vector<Cycled>& CycledParts() {
  static const std::vector<Cycled> parts = {
      {Part::kSyscall, "syscall", {"on_syscall"}},
      {Part::kFault, "memory", {"on_fault"}},
      {Part::kPages, "memory", {"on_alloc", "on_free"}},
      {Part::kSocket, "socket", {}},
      {Part::kSignal, "signal", {}},
      {Part::kLock, "lock", {"on_contention"}},
      {Part::kSoftirq, "irq", {"on_softirq", "on_softirq_exit"}},
      {Part::kDisk, "disk", {}, true},
  };
  return parts;
}

// What only stacks of waits need.
const std::vector<std::string>& SwitchExits() {
  static const std::vector<std::string> programs = {"on_switch_exit", "on_schedule_exit",
                                                    "on_waking"};
  return programs;
}

// Where one cgroup is watched, that a CPU is in an interrupt must be known all the time: what is
// done there is not the cgroup's.
bool IsCycledWhere(const Cycled& cycled, bool scoped) {
  return !scoped || cycled.part != Part::kSoftirq;
}

// What the parts took of the host, largest first.
std::string Largest(const PerPart<double>& ns, double host_ns) {
  std::vector<std::pair<double, Part>> shares;
  for (size_t i = 0; i < kParts; ++i) {
    const double share = ns[i] / host_ns;
    if (share >= 0.0001) shares.emplace_back(share, static_cast<Part>(i));
  }
  std::ranges::sort(shares, std::greater<>());
  return absl::StrJoin(shares, ", ", [](std::string* out, const auto& share) {
    absl::StrAppendFormat(out, "%s %.2f %%", PartName(share.second), 100 * share.first);
  });
}

DutyCycler::Hooks HooksOf(BpfGroup* group, const std::vector<std::string>& programs,
                          std::function<void(bool open)> gate) {
  return {[group, programs] {
            absl::Status status;
            for (const std::string& program : programs) {
              if (absl::Status attached = group->Attach(program); !attached.ok()) status = attached;
            }
            return status;
          },
          [group, programs] {
            for (const std::string& program : programs) group->Detach(program);
          },
          std::move(gate)};
}

// Of programs that stay: outside of their windows they do not count.
DutyCycler::Hooks GateOf(std::function<void(bool open)> gate) {
  return {[] { return absl::OkStatus(); }, [] {}, std::move(gate)};
}

uint64_t DutyPpm(uint8_t level) { return kAlways >> level; }

}  // namespace

BudgetKeeper::BudgetKeeper(Options options, telltale_control* control, CutSteps* steps,
                           std::vector<const telltale_cpu*> blocks)
    : options_(std::move(options)), control_(control), steps_(steps), blocks_(std::move(blocks)) {
  governor_ = std::make_unique<Governor>(options_.governor);
  looks_ = std::make_unique<WaitLooks>(steps_, control_,
                                       options_.governor.budget * options_.governor.cpus);
}

BudgetKeeper::~BudgetKeeper() = default;

void BudgetKeeper::AddGroup(BpfGroup* group) { groups_[group->object()] = group; }

void BudgetKeeper::Begin() {
  if (const auto it = groups_.find("syscall"); it != groups_.end()) {
    BpfGroup* const group = it->second;
    const uint64_t before = ClockNs(CLOCK_THREAD_CPUTIME_ID);
    group->Detach("on_syscall");
    const bool attached = group->Attach("on_syscall").ok();
    attach_ns_ = static_cast<double>(ClockNs(CLOCK_THREAD_CPUTIME_ID) - before);
    if (attached) {
      factor_ = MachineFactor([&] { return group->Attach("on_syscall").ok(); },
                              [&] { group->Detach("on_syscall"); });
    }
  }
  // Where attaching is dear (many tasks, many CPUs) it is done less often.
  size_t programs = 0;
  for (const Cycled& cycled : CycledParts()) {
    if (!cycled.stays) programs += std::max<size_t>(1, cycled.programs.size());
  }
  CostPace pace(kAttachShare * options_.governor.budget * options_.governor.cpus, kOftenS,
                kSeldomS);
  pace.Took(attach_ns_ * static_cast<double>(programs));
  GovernorOptions governor = options_.governor;
  governor.cycling_ns = attach_ns_ / pace.interval_s();
  governor_ = std::make_unique<Governor>(governor);
  spdlog::info(
      "governor: budget {}; a system call watched is reckoned at {:.0f} ns, taking a program off "
      "and "
      "on "
      "{:.2f} ms",
      options_.governor.budget > 0
          ? absl::StrFormat("%g %% of the host", 100 * options_.governor.budget)
          : "none",
      factor_ * kLoopSyscallNs, attach_ns_ / 1e6);
  cycler_ = std::make_unique<DutyCycler>(pace);
  for (const Cycled& cycled : CycledParts()) {
    const auto it = groups_.find(cycled.object);
    if (it == groups_.end() || !IsCycledWhere(cycled, options_.scoped)) continue;
    const auto gate = [knobs = &control_->knobs[VitalOfPart(cycled.part) - 1U]](bool open) {
      knobs->closed = open ? 0 : 1;
    };
    const auto& watching = cycled.programs.empty() ? it->second->rung()->programs : cycled.programs;
    units_.push_back(
        {cycled.part,
         cycler_->AddUnit(cycled.stays ? GateOf(gate) : HooksOf(it->second, watching, gate))});
  }
  if (const auto it = groups_.find("sched"); it != groups_.end()) {
    switch_exits_ = cycler_->AddUnit(HooksOf(it->second, SwitchExits(), [](bool) {}));
  }
  for (unsigned v = 0; v < TELLTALE_VITALS; ++v) {
    tokens_per_s_[v] = control_->knobs[v].tokens_per_s;
    token_burst_[v] = control_->knobs[v].token_burst;
  }
  stack_bytes_ = control_->stack_bytes;
  last_ = CountEvents(blocks_, control_->half & 1);
  began_mono_ns_ = last_mono_ns_ = ClockNs(CLOCK_MONOTONIC);
  last_agent_ns_ =
      options_.agent_cpu_ns ? options_.agent_cpu_ns() : ClockNs(CLOCK_PROCESS_CPUTIME_ID);
}

absl::Status BudgetKeeper::ChargeWaits() {
  if (governor_->detached()) return absl::OkStatus();
  if (counts_switches()) return looks_->LookAtCut();
  return steps_->Pass(TELLTALE_PASS_CHARGE, *control_, nullptr);
}

absl::Status BudgetKeeper::Tick(uint64_t mono_ns, const DrainUse& use) {
  if (cycler_ == nullptr || mono_ns <= last_mono_ns_) return absl::OkStatus();
  const EventCounts counts = CountEvents(blocks_, control_->half & 1);
  const GovernorReading reading = Reckon(mono_ns, use, counts);
  AddLost(counts);
  const PerPart<double> taken_ns = governor_->Taken(reading);
  for (size_t i = 0; i < kParts; ++i) spent_ns_[i] += taken_ns[i];
  const double host_ns =
      static_cast<double>(mono_ns - last_mono_ns_) * std::max(options_.governor.cpus, 1U);
  Tell(taken_ns, host_ns);
  last_ = counts;
  last_mono_ns_ = mono_ns;
  const GovernorDecision decision = governor_->Update(reading);
  if (!governor_->detached() && mono_ns >= attach_again_ns_) {
    attach_again_ns_ = mono_ns + kAttachAgainNs;
    cycler_->Retry();
    if (!not_attached_.ok()) AttachAll(mono_ns).IgnoreError();  // it is told below
  }
  absl::Status status = not_attached_;
  if (counts_switches() && !governor_->detached()) {
    if (absl::Status looked = looks_->LookIfDue(mono_ns); !looked.ok()) status = looked;
  }
  bool calmer = false;
  for (const GovernorStep& step : decision.steps) {
    spdlog::info(
        "governor: {} from level {} to {} of {}{}", PartName(step.part), step.from, step.to,
        MaxLevel(step.part),
        decision.over > 0
            ? absl::StrFormat(": the agent took %.2f %% of the host, its budget is %.2f %%",
                              100 * decision.over, 100 * options_.governor.budget)
        : step.to > step.from ? ": to have user stacks again"
                              : ": there has been room for it");
    if (absl::Status applied = Apply(step, mono_ns); !applied.ok()) status = applied;
    calmer = calmer || step.to < step.from;
  }
  // What counts for all there is must see all there is; on a calm host that is soon.
  if (calmer) cycler_->Settled(kBackAgain);
  if (decision.detached) {
    if (*decision.detached) {
      spdlog::warn("governor: with all turned down that helps the agent takes, of the host: {}",
                   Largest(taken_ns, host_ns));
    }
    if (absl::Status done = SetDetached(*decision.detached, mono_ns); !done.ok()) status = done;
  }
  return status;
}

void BudgetKeeper::Tell(const PerPart<double>& taken_ns, double host_ns) {
  for (size_t i = 0; i < kParts; ++i) untold_ns_[i] += taken_ns[i];
  untold_host_ns_ += host_ns;
  if (untold_host_ns_ < kTellEveryNs * std::max(options_.governor.cpus, 1U)) return;
  spdlog::debug("governor: the agent takes, of the host: {}", Largest(untold_ns_, untold_host_ns_));
  untold_ns_ = {};
  untold_host_ns_ = 0;
}

void BudgetKeeper::Note(uint8_t vital, uint64_t mono_ns, KnobKind knob, uint64_t from,
                        uint64_t to) {
  if (from == to) return;  // the part took a step, and this is where it was: tokens at their floor
  changes_[vital - 1U].push_back({mono_ns, knob, from, to});
}

absl::Status BudgetKeeper::ApplySwitch(uint8_t from, uint8_t to) {
  looked_ = looked_ || from == kSwitchCount || to == kSwitchCount;
  const auto set_exits = [this](bool away) {
    if (switch_exits_) cycler_->SetAway(*switch_exits_, away);
  };
  absl::Status status;
  // Waits are charged up to here before they are lost sight of, and begin here when seen again.
  if (to == kSwitchCount) status = steps_->Pass(TELLTALE_PASS_CHARGE, *control_, nullptr);
  if (from == kSwitchCount) status = looks_->Follow();
  control_->switch_level = to;
  if (to == kSwitchCount && status.ok()) status = looks_->Look();
  if (from == 0) set_exits(true);
  if (to == 0) set_exits(false);
  return status;
}

uint8_t BudgetKeeper::least_t_log2() const {
  const uint8_t level = governor_->level(Part::kSamples);
  return static_cast<uint8_t>(level > kTokenLevels ? 1 + level - kTokenLevels : 1);
}

void BudgetKeeper::ApplySamples(uint8_t to, uint64_t mono_ns) {
  const unsigned shift = std::min(to, kTokenLevels);
  for (unsigned v = 0; v < TELLTALE_VITALS; ++v) {
    telltale_knobs& knobs = control_->knobs[v];
    knobs.tokens_per_s = std::max(tokens_per_s_[v] >> shift, 1U);
    knobs.token_burst = std::max(token_burst_[v] >> shift, kLeastBurst);
    if (knobs.t_log2 >= least_t_log2()) continue;
    Note(static_cast<uint8_t>(v + 1), mono_ns, KnobKind::kTLog2, knobs.t_log2, least_t_log2());
    SetTLog2(*control_, v, least_t_log2());
  }
}

absl::Status BudgetKeeper::Apply(const GovernorStep& step, uint64_t mono_ns) {
  if (IsCycled(step.part)) {
    const uint8_t vital = VitalOfPart(step.part);
    for (const Unit& unit : units_) {
      if (unit.part != step.part) continue;
      if (step.to > step.from) control_->knobs[vital - 1U].duty_log2 = step.to;
      cycler_->SetDuty(unit.index, step.to);
      control_->knobs[vital - 1U].duty_log2 = step.to;
    }
    cycled_[vital - 1U] = true;
    Note(vital, mono_ns, KnobKind::kDuty, DutyPpm(step.from), DutyPpm(step.to));
    return absl::OkStatus();
  }
  switch (step.part) {
    case Part::kSwitch:
      for (const uint8_t vital : {TELLTALE_SCHED_DELAY, TELLTALE_BLOCKING}) {
        Note(vital, mono_ns, KnobKind::kWaits, kSwitchCount - step.from, kSwitchCount - step.to);
      }
      return ApplySwitch(step.from, step.to);
    case Part::kTasks:
      for (const uint8_t vital :
           {TELLTALE_SCHED_DELAY, TELLTALE_BLOCKING, TELLTALE_LOCK, TELLTALE_RECLAIM}) {
        Note(vital, mono_ns, KnobKind::kLeastRun, control_->least_run_ns,
             step.to == 0 ? 0 : kLeastRunNs);
      }
      control_->least_run_ns = step.to == 0 ? 0 : kLeastRunNs;
      return absl::OkStatus();
    case Part::kSamples:
      for (uint8_t vital = 1; vital <= TELLTALE_VITALS; ++vital) {
        const uint32_t before = control_->knobs[vital - 1U].tokens_per_s;
        const unsigned shift = std::min(step.to, kTokenLevels);
        Note(vital, mono_ns, KnobKind::kTokens, before,
             std::max(tokens_per_s_[vital - 1U] >> shift, 1U));
      }
      ApplySamples(step.to, mono_ns);
      return absl::OkStatus();
    case Part::kUnwinding:
      control_->no_user_stacks = step.to >= kUnwindNone;
      control_->stack_bytes = step.to == 0 ? stack_bytes_ : std::min(stack_bytes_, kShortStack);
      for (uint8_t vital = 1; vital <= TELLTALE_VITALS; ++vital) {
        Note(vital, mono_ns, KnobKind::kStacks, kUnwindNone - step.from, kUnwindNone - step.to);
      }
      return absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

// The last resort, and the way back.
absl::Status BudgetKeeper::SetDetached(bool detached, uint64_t mono_ns) {
  absl::Status status;
  for (uint8_t vital = 1; vital <= TELLTALE_VITALS; ++vital) {
    Note(vital, mono_ns, KnobKind::kAttached, detached ? 1 : 0, detached ? 0 : 1);
  }
  if (detached) {
    spdlog::warn(
        "governor: the sensor is taken off: even with all turned down that helps the agent takes "
        "more than its budget of {:.2f} % of the host; it tries again in a while",
        100 * options_.governor.budget);
    status =
        counts_switches() ? looks_->Look() : steps_->Pass(TELLTALE_PASS_CHARGE, *control_, nullptr);
    for (const Unit& unit : units_) cycler_->SetAway(unit.index, true);
    if (switch_exits_) cycler_->SetAway(*switch_exits_, true);
    for (const auto& [object, group] : groups_) {
      for (const std::string& program : OwnPrograms(object)) group->Detach(program);
    }
    detached_at_ns_ = mono_ns;
    not_attached_ = absl::OkStatus();
    pace_.Forget();
    return status;
  }
  spdlog::info("governor: the sensor is tried again");
  status = steps_->Pass(TELLTALE_PASS_RETURN, *control_, nullptr);
  if (counts_switches() && status.ok()) status = looks_->Look();
  if (absl::Status attached = AttachAll(mono_ns); !attached.ok()) status = attached;
  for (const Unit& unit : units_) cycler_->SetAway(unit.index, false);
  if (switch_exits_) cycler_->SetAway(*switch_exits_, governor_->level(Part::kSwitch) != 0);
  detached_ns_ += mono_ns - detached_at_ns_;
  detached_at_ns_ = 0;
  last_ = CountEvents(blocks_, control_->half & 1);
  return status;
}

// Those that are not the cycler's.
std::vector<std::string> BudgetKeeper::OwnPrograms(const std::string& object) const {
  std::vector<std::string> own = groups_.at(object)->rung()->programs;
  const auto leave = [&own](const std::vector<std::string>& programs) {
    std::erase_if(own, [&](const std::string& program) {
      return std::ranges::find(programs, program) != programs.end();
    });
  };
  if (object == "sched") leave(SwitchExits());
  for (const Cycled& cycled : CycledParts()) {
    if (cycled.object != object || cycled.stays || !IsCycledWhere(cycled, options_.scoped)) {
      continue;
    }
    if (cycled.programs.empty()) return {};
    leave(cycled.programs);
  }
  return own;
}

// What is there already stays.
absl::Status BudgetKeeper::AttachAll(uint64_t mono_ns) {
  absl::Status status;
  for (const auto& [object, group] : groups_) {
    for (const std::string& program : OwnPrograms(object)) {
      if (absl::Status attached = group->Attach(program); !attached.ok()) status = attached;
    }
  }
  not_attached_ = status;
  attach_again_ns_ = mono_ns + kAttachAgainNs;
  return status;
}

void BudgetKeeper::Flipped() {
  const EventCounts now = CountEvents(blocks_, control_->half & 1);
  last_.vitals = {};
  last_.refused_samples = 0;
  last_.outside = now.outside;
  last_.outside_switches = now.outside_switches;
  last_.unseen = now.unseen;
  last_.switches = now.switches;
  last_.ends = now.ends;
  last_.unknown_ends = now.unknown_ends;
  last_.soft_interrupts = now.soft_interrupts;
}

void BudgetKeeper::Finish(RawEpoch& epoch) {
  uint64_t detached_ns = std::exchange(detached_ns_, 0);
  if (detached_at_ns_ != 0 && epoch.end_mono_ns > detached_at_ns_) {
    detached_ns += epoch.end_mono_ns - detached_at_ns_;
    detached_at_ns_ = epoch.end_mono_ns;
  }
  epoch.watched_ns -= std::min(epoch.watched_ns, detached_ns);
  if (std::exchange(looked_, counts_switches()) || counts_switches()) {
    for (const uint8_t vital : {TELLTALE_SCHED_DELAY, TELLTALE_BLOCKING, TELLTALE_LOCK}) {
      epoch.vitals[vital - 1U].estimated = true;
    }
  }
  const std::array<bool, TELLTALE_VITALS> cycled = std::exchange(cycled_, {});
  for (const Unit& unit : units_) {
    const unsigned v = VitalOfPart(unit.part) - 1U;
    cycled_[v] = cycled_[v] || governor_->level(unit.part) != 0;
    if (cycled[v] || cycled_[v]) epoch.vitals[v].estimated = true;
  }
  for (unsigned v = 0; v < TELLTALE_VITALS; ++v) {
    if (lost_[v].events != 0) {
      epoch.losses.push_back(
          {LossKind::kDutyCycle, epoch.vitals[v].id, lost_[v].events, lost_[v].weight});
    }
    lost_[v] = {};
    RawVital& vital = epoch.vitals[v];
    vital.knobs.insert(vital.knobs.end(), changes_[v].begin(), changes_[v].end());
    changes_[v].clear();
  }
  epoch.budget = options_.governor.budget;
  for (size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    epoch.costs.push_back(
        {static_cast<uint8_t>(i), static_cast<uint64_t>(spent_ns_[i]), governor_->level(part)});
    spent_ns_[i] = 0;
  }
  // Lock waits are as rare in the histogram as they are seen. Of disk requests the ends are counted
  // all the time, what was issued is an estimate then.
  for (RawHistogram& histogram : epoch.histograms) {
    if (histogram.op == HistogramOp::kLockWait) {
      histogram.share_ppm = static_cast<uint32_t>(DutyPpm(governor_->level(Part::kLock)));
    }
    const bool of_disk = histogram.op == HistogramOp::kDiskRead ||
                         histogram.op == HistogramOp::kDiskWrite ||
                         histogram.op == HistogramOp::kDiskFlush;
    if (of_disk && epoch.vitals[TELLTALE_DISK_IO - 1].estimated)
      histogram.entries = histogram.exits;
  }
}

}  // namespace telltale::agent
