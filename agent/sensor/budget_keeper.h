// Keeps the sensor to its budget: reckons what each part of it costs, asks the governor
// (agent/governor) and does what it says: takes programs off their hooks for part of the time,
// takes tokens and stacks away, and in the end takes everything off. What an epoch lacks by that is
// added to it, so that each answer can say so.
//
// Owned by the sensor, its thread only.

#ifndef TELLTALE_AGENT_SENSOR_BUDGET_KEEPER_H_
#define TELLTALE_AGENT_SENSOR_BUDGET_KEEPER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/governor/governor.h"
#include "agent/governor/sample_demand.h"
#include "agent/governor/spread_cost.h"
#include "agent/governor/unwind_price.h"
#include "agent/governor/windowed_cost.h"
#include "agent/sensor/bpf_group.h"
#include "agent/sensor/cut_steps.h"
#include "agent/sensor/duty_cycler.h"
#include "agent/sensor/event_counts.h"
#include "agent/sensor/host_counts.h"
#include "agent/sensor/record_router.h"
#include "agent/sensor/sensor.h"
#include "agent/sensor/wait_looks.h"
#include "sketch/layout.h"

namespace telltale::agent {

// What a level of Part::kUnwinding leaves of user stacks, for people; empty: all of them.
std::string StacksLeft(uint8_t level);

class BudgetKeeper {
 public:
  struct Options {
    GovernorOptions governor;
    // CPU ns of all processes of the agent since some moment. Unset: of this one.
    std::function<uint64_t()> agent_cpu_ns;
    bool scoped = false;  // the tasks of one cgroup only are counted
  };
  // All outlive it. `blocks`: of all CPUs.
  BudgetKeeper(Options options, telltale_control* control, CutSteps* steps,
               std::vector<const telltale_cpu*> blocks);
  ~BudgetKeeper();

  // Each group that was started, before Begin. It outlives this.
  void AddGroup(BpfGroup* group);
  // Calibrates: takes a few ms.
  void Begin();

  // After each drain of the running half.
  absl::Status Tick(uint64_t mono_ns, const DrainUse& use);
  // Of the half in use, as of the last Tick.
  const EventCounts& counted() const { return last_; }
  bool detached() const { return governor_->detached(); }
  // Before the flip: charges what each task has waited up to now, as far as it is known.
  absl::Status ChargeWaits();
  // After it with the new half in use, and for the epoch that it ended.
  void Flipped();
  // What the governor lets t be at least, as a power of two.
  uint8_t least_t_log2() const;
  void Finish(RawEpoch& epoch);

  // The budget's part in a vital's state: degrades it where it is watched less than all the time.
  void AddTo(std::vector<VitalStatus>& status) const;

 private:
  struct Unit {
    Part part;
    size_t index;  // in the cycler
  };
  GovernorReading Reckon(uint64_t mono_ns, const DrainUse& use, const EventCounts& counts);
  // While detached: what switches and tasks would cost, by the kernel's own counts.
  void ReckonUnwatched(uint64_t mono_ns, GovernorReading& reading);
  void AddLost(const EventCounts& counts);
  absl::Status Apply(const GovernorStep& step, uint64_t mono_ns);
  // Not what the governor wants, which is applied a moment later.
  bool counts_switches() const { return control_->switch_level == TELLTALE_SWITCH_COUNT; }
  absl::Status ApplySwitch(uint8_t from, uint8_t to);
  void ApplySamples(uint8_t to, uint64_t mono_ns);
  // Each 10 s, to who debugs: what the parts took.
  void Tell(const PerPart<double>& taken_ns, double host_ns);
  void Note(uint8_t vital, uint64_t mono_ns, KnobKind knob, uint64_t from, uint64_t to);
  absl::Status SetDetached(bool detached, uint64_t mono_ns);
  absl::Status AttachAll(uint64_t mono_ns);
  std::vector<std::string> OwnPrograms(const std::string& object) const;

  const Options options_;
  telltale_control* const control_;
  CutSteps* const steps_;
  const std::vector<const telltale_cpu*> blocks_;
  std::map<std::string, BpfGroup*> groups_;  // by object
  std::unique_ptr<DutyCycler> cycler_;
  std::vector<Unit> units_;
  std::optional<size_t> switch_exits_;  // the unit of what only stacks of waits need
  std::unique_ptr<Governor> governor_;
  double factor_ = 1;     // of this machine, to cost_model.h
  double attach_ns_ = 0;  // measured at the start: once on, once off
  std::array<uint32_t, TELLTALE_VITALS> tokens_per_s_{}, token_burst_{};  // at level 0
  uint32_t stack_bytes_ = 0;

  EventCounts last_;
  uint64_t last_mono_ns_ = 0, last_agent_ns_ = 0, last_cycler_ns_ = 0;
  uint64_t began_mono_ns_ = 0;
  SpreadCost once_, start_;         // tables made; names read at the start
  PerPart<SpreadCost> spread_;      // of samples, stacks and the rest
  PerPart<WindowedCost> windowed_;  // of what is attached part of the time
  UnwindPrice unwind_price_;
  SampleDemand sample_demand_;
  PerPart<double> untold_ns_{};  // taken since the log was last told
  double untold_host_ns_ = 0;
  uint64_t detached_at_ns_ = 0;
  absl::Status not_attached_;  // why not all is back; tried again
  uint64_t attach_again_ns_ = 0;
  HostPace pace_;                     // while detached
  std::unique_ptr<WaitLooks> looks_;  // where switches are only counted

  // Of the running epoch.
  PerPart<double> spent_ns_{};
  std::array<telltale_total, TELLTALE_VITALS> lost_{};
  uint64_t detached_ns_ = 0;
  bool looked_ = false;                         // waits were looked at in a part of it
  std::array<bool, TELLTALE_VITALS> cycled_{};  // watched a part of the time in a part of it
  std::array<std::vector<RawKnobChange>, TELLTALE_VITALS> changes_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_BUDGET_KEEPER_H_
