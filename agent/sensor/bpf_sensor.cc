#include "agent/sensor/bpf_sensor.h"

#include <bpf/libbpf.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/clock_ns.h"
#include "agent/sensor/bpf_group.h"
#include "agent/sensor/budget_keeper.h"
#include "agent/sensor/cgroup_scope.h"
#include "agent/sensor/cut_steps.h"
#include "agent/sensor/disk_requests.h"
#include "agent/sensor/drain_pace.h"
#include "agent/sensor/epoch_reader.h"
#include "agent/sensor/mapped_array.h"
#include "agent/sensor/process_table.h"
#include "agent/sensor/record_router.h"
#include "agent/sensor/vital_groups.h"
#include "agent/vitals/vitals.h"
#include "sketch/linear_count.h"
#include "sketch/time_units.h"

namespace telltale::agent {
namespace {

// Beyond t = 256 a cell is sampled at its quantum and hardly ever again: what t could still save is
// less than what is no longer seen, and the tokens bound the cost anyway.
constexpr uint8_t kMaxTLog2 = 8;
constexpr uint64_t kAwaitedTicks = 5;  // of which a CPU at work has one each period

absl::Status Failed(const char* step, int error) {
  return absl::InternalError(absl::StrCat("sensor: ", step, ": ", strerror(error)));
}

int Quiet(libbpf_print_level, const char*, va_list) { return 0; }

// For samples and events of what is no epoch.
class Nowhere : public SampleSink {
 public:
  void OnSample(const RawSample&) override {}
  void OnEvent(const RawEvent&) override {}
};

}  // namespace

class BpfSensor::Impl {
 public:
  explicit Impl(BpfSensorOptions options)
      : options_(std::move(options)), router_(options_.unwinder) {}

  absl::Status Start();
  std::vector<VitalStatus> Status() const;
  const std::vector<SourceStatus>& Sources() const { return sources_; }
  absl::StatusOr<uint64_t> Drain(SampleSink& sink);
  SensorRest Rest();
  absl::StatusOr<RawEpoch> Cut(SampleSink& sink);
  absl::StatusOr<RawEpoch> Peek();

 private:
  struct Group {
    std::unique_ptr<BpfGroup> programs;
    std::vector<uint8_t> vitals;
    std::map<std::string, uint64_t> misses;  // by program: recursion misses up to the last cut
  };

  absl::Status StartCore();
  void StartKeeper();
  void StartGroups();
  // What a group that was started, or was not, means for its vitals.
  VitalStatus StatusOf(const BpfGroup& group, const absl::Status& started) const;
  void Describe(const BpfGroup& group, const std::vector<uint8_t>& vitals,
                const absl::Status& started);
  void DescribeSource(const BpfGroup& group, const absl::Status& started);
  bool HasTicked() const;
  void ProveTicks(PerfEvents* perf);
  int64_t RequestsInFlight() const;
  void DegradeSeconds(const absl::Status& why);
  // The flip and what makes the old half whole: OK when nobody writes it any more, all tasks have
  // their part and the ring is drained. An error comes after the flip all the same.
  absl::Status Flip(SampleSink& sink, uint64_t now);
  void BeginTable();
  // OK when nobody writes the half that the flip left any more, and the rows of all tasks are in
  // `table`, if there is one. May be done again after an error.
  absl::Status CloseLeftHalf(ProcessTable* table);
  // After a flip whose half could not be closed: gives up the epoch it ended.
  absl::Status GiveUp(const absl::Status& why);
  // Counts what a half that was given up holds as lost, and clears it. Nothing to do: OK. Right
  // after a drain, so that the router holds back nothing of the running epoch.
  absl::Status ClearUnread();
  void Clear(uint32_t half);
  std::vector<const telltale_cpu*> Blocks() const;  // one per CPU and the iterator's
  std::vector<const telltale_half*> Halves(uint32_t half) const;
  const HalfBitmaps& Bitmaps(uint32_t half) const;
  void FillTimes(uint32_t half, uint64_t end, RawEpoch& epoch) const;
  void AddLosses(RawEpoch& epoch);
  void AdaptHeavy();
  void AdaptKnobs(const std::array<uint32_t, TELLTALE_VITALS>& dry_spells, uint64_t now);
  uint64_t Seed(uint64_t number) const;

  const BpfSensorOptions options_;
  uint32_t possible_cpus_ = 0, online_cpus_ = 1;
  std::unique_ptr<SharedMaps> maps_;
  CutSteps steps_;
  std::vector<Group> groups_;
  MappedArray control_map_, bitmaps_map_, group_map_, cpus_map_;
  telltale_control* control_ = nullptr;
  RecordRouter router_;
  std::optional<CgroupScope> scope_;
  std::unique_ptr<BudgetKeeper> keeper_;  // after groups_, which it takes off their hooks
  bool beats_ = false;  // a kernel timer moves the seconds on; else each drain does
  std::vector<VitalStatus> status_;
  std::vector<SourceStatus> sources_;
  DrainPace pace_;
  uint32_t rests_ = 0;
  bool resting_ = false;      // a rest that programs may end early
  bool hears_execs_ = false;  // they are among what ends it

  uint64_t number_ = 0;
  std::unique_ptr<ProcessTable> table_;  // of the running epoch
  BacklogBase backlog_{};
  std::array<uint8_t, TELLTALE_VITALS> quiet_epochs_{};
  std::array<uint64_t, TELLTALE_VITALS> total_{};  // of the last epoch
  std::array<std::vector<RawKnobChange>, TELLTALE_VITALS> knob_changes_;
  bool unread_ = false;            // the half not in use still holds an epoch given up
  std::vector<RawLoss> given_up_;  // of epochs given up, for the next that is cut
};

uint64_t BpfSensor::Impl::Seed(uint64_t number) const {
  if (options_.seed) return options_.seed(number);
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) seed = ClockNs(CLOCK_MONOTONIC) * number;
  return seed;
}

absl::Status BpfSensor::Impl::StartCore() {
  maps_ = std::make_unique<SharedMaps>(possible_cpus_, !options_.cgroup.empty());
  if (absl::Status status = steps_.Load(*maps_); !status.ok()) return status;
  if (absl::Status status =
          control_map_.Map(maps_->fd(".data.control"), sizeof(telltale_control), 1, "control");
      !status.ok()) {
    return status;
  }
  if (absl::Status status =
          bitmaps_map_.Map(maps_->fd(".data.bitmaps"), sizeof(telltale_bitmaps), 1, "bitmaps");
      !status.ok()) {
    return status;
  }
  if (absl::Status status = group_map_.Map(maps_->fd("group"), sizeof(telltale_group), 1, "group");
      !status.ok()) {
    return status;
  }
  if (absl::Status status =
          cpus_map_.Map(maps_->fd("cpus"), sizeof(telltale_cpu), possible_cpus_ + 1, "cpus");
      !status.ok()) {
    return status;
  }
  control_ = control_map_.At<telltale_control>(0);
  online_cpus_ = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  InitControl(options_.budget, possible_cpus_, online_cpus_, *control_);
  cpus_map_.At<telltale_cpu>(possible_cpus_)->of_passes = 1;
  control_->seed[0] = Seed(0);
  control_->epoch_start_ns[0] = ClockNs(CLOCK_MONOTONIC);
  control_->next_drain = 1;
  control_->stack_bytes = router_.unwinds() ? TELLTALE_STACK_BYTES : 0;
  if (!options_.cgroup.empty()) {
    scope_.emplace(options_.cgroup);
    if (absl::Status status = scope_->Begin(*control_); !status.ok()) return status;
  }
  return router_.Open(maps_->fd("ring"));
}

void BpfSensor::Impl::StartGroups() {
  const std::shared_ptr<PerfEvents> perf =
      options_.perf_events ? options_.perf_events : std::make_shared<KernelPerfEvents>();
  for (const sketch::Vital& vital : Vitals()) {
    status_.push_back({vital.id, VitalState::kUnavailable, "", "no program watches it"});
  }
  for (VitalGroup& spec : VitalGroups()) {
    Group group{std::make_unique<BpfGroup>(spec.object, std::move(spec.rungs)), spec.vitals, {}};
    const std::string nothing = scope_ ? scope_->WhyNothing(spec.object) : "";
    // The programs of irq tell the others what happens in an interrupt; they stay.
    const absl::Status started = nothing.empty() || spec.object == "irq"
                                     ? group.programs->Start(*maps_, perf.get())
                                     : absl::FailedPreconditionError(nothing);
    absl::Status heard = started;
    if (started.ok() && spec.object == "departure" && router_.unwinds()) {
      // Without it processes that end early are gone, as on kernels that cannot tell.
      heard = router_.OpenDepartures(group.programs->map_fd("departures"));
    }
    if (spec.vitals.empty()) {
      DescribeSource(*group.programs, heard);
    } else {
      Describe(*group.programs, spec.vitals, heard);
    }
    if (!heard.ok()) continue;
    hears_execs_ = hears_execs_ || spec.object == "lifecycle";
    if (spec.object == "sched") control_->exit_hook = ExitHookOf(*group.programs->rung());
    groups_.push_back(std::move(group));
  }
  ProveTicks(perf.get());
}

VitalStatus BpfSensor::Impl::StatusOf(const BpfGroup& group, const absl::Status& started) const {
  VitalStatus status;
  if (!started.ok()) {
    status.reason = std::string(started.message());
    return status;
  }
  if (scope_) status.reason = scope_->WhyNothing(group.object());
  if (!status.reason.empty()) return status;
  const Rung& rung = *group.rung();
  status.hook = rung.hook;
  status.reason = rung.reason.empty()
                      ? group.gaps()
                      : absl::StrCat(rung.reason, " (", group.why_not_higher(), ")");
  status.state = status.reason.empty() ? VitalState::kActive : VitalState::kDegraded;
  return status;
}

void BpfSensor::Impl::Describe(const BpfGroup& group, const std::vector<uint8_t>& vitals,
                               const absl::Status& started) {
  for (const uint8_t id : vitals) {
    VitalStatus& status = status_[PlaceOf(id)];
    status = StatusOf(group, started);
    status.id = id;
  }
}

void BpfSensor::Impl::DescribeSource(const BpfGroup& group, const absl::Status& started) {
  const VitalStatus status = StatusOf(group, started);
  const char* name = group.object() == "departure" ? "files of processes that have ended"
                                                   : "starts and ends of processes";
  sources_.push_back({name, status.state, status.hook, status.reason});
}

bool BpfSensor::Impl::HasTicked() const {
  for (uint32_t cpu = 0; cpu < possible_cpus_; ++cpu) {
    uint64_t& jiffies = cpus_map_.At<telltale_cpu>(cpu)->tick_jiffies;
    if (std::atomic_ref<uint64_t>(jiffies).load(std::memory_order_relaxed) != 0) return true;
  }
  return false;
}

// A tracepoint can be attached to where nothing ever passes it: that of the local APIC's timer
// where the machine's ticks come from elsewhere (Hyper-V, Xen). The other groups have kept a CPU
// busy since, so this hardly ever waits.
void BpfSensor::Impl::ProveTicks(PerfEvents* perf) {
  const auto tick = std::ranges::find_if(
      groups_, [](const Group& group) { return group.programs->object() == "tick"; });
  if (tick == groups_.end()) return;
  const uint64_t end = ClockNs(CLOCK_MONOTONIC) + kAwaitedTicks * control_->tick_ns;
  while (!HasTicked() && ClockNs(CLOCK_MONOTONIC) < end) {
  }
  if (HasTicked()) return;
  const absl::Status started = tick->programs->StartLower(
      absl::StrCat("attached to ", tick->programs->rung()->hook, ", no tick came"), *maps_, perf);
  Describe(*tick->programs, tick->vitals, started);
  if (!started.ok()) groups_.erase(tick);
}

void BpfSensor::Impl::StartKeeper() {
  std::vector<const telltale_cpu*> blocks;
  for (uint32_t cpu = 0; cpu < possible_cpus_; ++cpu) {
    blocks.push_back(cpus_map_.At<telltale_cpu>(cpu));
  }
  BudgetKeeper::Options options;
  options.scoped = scope_.has_value();
  options.governor = options_.governor;
  options.governor.cpus = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  options.agent_cpu_ns = options_.agent_cpu_ns;
  keeper_ =
      std::make_unique<BudgetKeeper>(std::move(options), control_, &steps_, std::move(blocks));
  for (Group& group : groups_) keeper_->AddGroup(group.programs.get());
  keeper_->Begin();
}

std::vector<VitalStatus> BpfSensor::Impl::Status() const {
  std::vector<VitalStatus> status = status_;
  if (keeper_ != nullptr) keeper_->AddTo(status);
  if (scope_) scope_->AddTo(status);
  return status;
}

// The agent moves the seconds on when it drains: totals stay exact, what happened near the end of a
// second may stand in the one before.
void BpfSensor::Impl::DegradeSeconds(const absl::Status& why) {
  for (VitalStatus& status : status_) {
    if (status.state != VitalState::kActive) continue;
    status.state = VitalState::kDegraded;
    status.reason =
        absl::StrCat("seconds are up to 100 ms late (", std::string(why.message()), ")");
  }
}

absl::Status BpfSensor::Impl::Start() {
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_set_print(Quiet);
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return Failed("counting possible CPUs", -cpus);
  possible_cpus_ = static_cast<uint32_t>(cpus);
  if (absl::Status status = StartCore(); !status.ok()) return status;
  StartGroups();
  if (std::ranges::none_of(status_, [](const VitalStatus& s) { return !s.hook.empty(); })) {
    return absl::FailedPreconditionError(
        absl::StrCat("sensor: no vital can be watched on this host; ",
                     status_[TELLTALE_SCHED_DELAY - 1].reason));
  }
  // One switch of our own tells how far the run-queue clock is from CLOCK_MONOTONIC.
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  BeginTable();
  if (scope_) {  // who runs now is asked here, later at each switch
    if (absl::Status status = steps_.FlushCpus(possible_cpus_); !status.ok()) return status;
  }
  if (absl::Status status = steps_.Pass(TELLTALE_PASS_ADOPT, *control_, nullptr); !status.ok()) {
    return status;
  }
  const absl::Status beat = steps_.StartBeat();
  beats_ = beat.ok();
  if (!beat.ok()) DegradeSeconds(beat);
  StartKeeper();
  // What was counted while the groups came up one by one is no epoch: drop it.
  Nowhere nowhere;
  number_ = ~uint64_t{0};  // the epoch after this one is number 0
  return Cut(nowhere).status();
}

absl::StatusOr<uint64_t> BpfSensor::Impl::Drain(SampleSink& sink) {
  const uint32_t half = control_->half & 1;
  if (!beats_) {
    const uint64_t second = (ClockNs(CLOCK_MONOTONIC) - control_->epoch_start_ns[half]) / kNsPerS;
    control_->second[half] =
        static_cast<uint32_t>(std::min<uint64_t>(second, TELLTALE_SECONDS - 1));
  }
  if (scope_) scope_->Look(ClockNs(CLOCK_MONOTONIC), *control_);
  struct sysinfo memory = {};
  if (sysinfo(&memory) == 0) {
    control_->swap_free_pages =
        memory.freeswap * memory.mem_unit / static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }
  const bool roused = std::exchange(resting_, false) && control_->resting == 0;
  control_->resting = 0;
  const uint64_t began = ClockNs(CLOCK_MONOTONIC), before = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  const auto drained = router_.Drain(sink, *table_, half);
  if (!drained.ok()) return drained.status();
  DrainUse use = router_.TakeUse();
  ++control_->next_drain;
  use.thread_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - before;
  const uint64_t now = ClockNs(CLOCK_MONOTONIC);
  // On a busy host the thread waits for its CPU, as long while it unwinds as elsewhere.
  if (now - began > use.thread_ns) {
    use.unwind_ns = static_cast<uint64_t>(static_cast<double>(use.unwind_ns) *
                                          static_cast<double>(use.thread_ns) /
                                          static_cast<double>(now - began));
  }
  pace_.Drained(now, use.execs != 0, roused);
  // As soon as it can be: the tasks' accounts up to then go with the epoch that was given up.
  const absl::Status cleared = ClearUnread();
  const absl::Status ticked = keeper_->Tick(now, use);
  AdaptHeavy();
  if (!cleared.ok()) return cleared;
  if (!ticked.ok()) return ticked;
  return *drained;
}

// Ticks tell of a load that the governor must see, and execs of processes that may soon be gone:
// without them, and where this thread moves the seconds on, it looks by itself.
SensorRest BpfSensor::Impl::Rest() {
  SensorRest rest;
  const bool hears_ticks = !status_[TELLTALE_CPU - 1].hook.empty() && !keeper_->detached();
  if (!beats_ || !hears_ticks || !hears_execs_) return rest;
  rest.ns = pace_.rest_ns();
  if (rest.ns == DrainPace::kShortest) return rest;
  rest.fd = router_.fd();
  resting_ = true;
  rests_ = std::max(rests_ + 1, 1U);
  control_->resting = rests_;
  return rest;
}

// By the last epoch, or by this one as soon as it has more: a load may have begun in the middle.
void BpfSensor::Impl::AdaptHeavy() {
  for (unsigned v = 0; v < TELLTALE_VITALS; ++v) {
    SetHeavy(*control_, v, std::max(total_[v], keeper_->counted().vitals[v].weight), online_cpus_);
  }
}

std::vector<const telltale_cpu*> BpfSensor::Impl::Blocks() const {
  std::vector<const telltale_cpu*> blocks;
  for (uint32_t cpu = 0; cpu <= possible_cpus_; ++cpu) {
    blocks.push_back(cpus_map_.At<telltale_cpu>(cpu));
  }
  return blocks;
}

std::vector<const telltale_half*> BpfSensor::Impl::Halves(uint32_t half) const {
  std::vector<const telltale_half*> halves;
  for (const telltale_cpu* block : Blocks()) halves.push_back(&block->half[half]);
  return halves;
}

void BpfSensor::Impl::FillTimes(uint32_t half, uint64_t end, RawEpoch& epoch) const {
  epoch.number = number_;
  epoch.seed = control_->seed[half];
  epoch.start_mono_ns = control_->epoch_start_ns[half];
  epoch.end_mono_ns = end;
  epoch.watched_ns = end - epoch.start_mono_ns;
  epoch.map_bytes = cpus_map_.bytes() + bitmaps_map_.bytes() + group_map_.bytes() +
                    control_map_.bytes() + TELLTALE_RING_BYTES;
}

void BpfSensor::Impl::AddLosses(RawEpoch& epoch) {
  std::map<uint8_t, uint64_t> missed;
  for (Group& group : groups_) {
    for (const std::string& program : group.programs->rung()->programs) {
      const uint64_t misses = group.programs->RecursionMisses(program);
      missed[VitalOfProgram(group.vitals, program)] += misses - group.misses[program];
      group.misses[program] = misses;
    }
  }
  for (const auto& [vital, events] : missed) {
    if (events != 0) epoch.losses.push_back({LossKind::kRecursion, vital, events, 0});
  }
  router_.TakeLosses(epoch.losses);
  epoch.losses.insert(epoch.losses.end(), given_up_.begin(), given_up_.end());
  given_up_.clear();
  epoch.unwinding = router_.EndUnwinding();
  CountNestedAdds(epoch);
}

void BpfSensor::Impl::AdaptKnobs(const std::array<uint32_t, TELLTALE_VITALS>& dry_spells,
                                 uint64_t now) {
  for (unsigned v = 0; v < TELLTALE_VITALS; ++v) {
    const uint8_t t = control_->knobs[v].t_log2;
    uint8_t next = t;
    quiet_epochs_[v] = dry_spells[v] == 0 ? static_cast<uint8_t>(quiet_epochs_[v] + 1) : 0;
    if (dry_spells[v] >= 2 && t < kMaxTLog2) next = t + 1;
    if (quiet_epochs_[v] >= 2 && t > keeper_->least_t_log2()) {
      next = t - 1;
      quiet_epochs_[v] = 0;
    }
    if (next == t) continue;
    SetTLog2(*control_, v, next);
    knob_changes_[v].push_back({now, KnobKind::kTLog2, t, next});
  }
}

absl::Status BpfSensor::Impl::Flip(SampleSink& sink, uint64_t now) {
  const uint32_t old = control_->half & 1, next = old ^ 1;
  control_->epoch_start_ns[next] = now;
  control_->second[next] = 0;
  control_->seed[next] = Seed(number_ + 1);
  std::atomic_ref<uint32_t>(control_->half).store(next, std::memory_order_seq_cst);
  const absl::Status closed = CloseLeftHalf(table_.get());
  // Whether or not that worked: what the ring holds of the old epoch must not get into the new one,
  // nor may the keeper compare the new half with the old.
  const absl::Status drained = router_.Drain(sink, *table_, old).status();
  keeper_->Flipped();
  return closed.ok() ? drained : closed;
}

// Of the half in use.
void BpfSensor::Impl::BeginTable() {
  table_ = std::make_unique<ProcessTable>(options_.max_processes,
                                          control_->epoch_start_ns[control_->half & 1]);
}

absl::Status BpfSensor::Impl::CloseLeftHalf(ProcessTable* table) {
  if (absl::Status status = steps_.Barrier(); !status.ok()) return status;
  if (absl::Status status = steps_.FlushCpus(possible_cpus_); !status.ok()) return status;
  cpus_map_.At<telltale_cpu>(possible_cpus_)->open_locks = 0;
  return steps_.Pass(TELLTALE_PASS_COLLECT, *control_, table);
}

absl::Status BpfSensor::Impl::GiveUp(const absl::Status& why) {
  const uint32_t half = (control_->half & 1) ^ 1;
  RawEpoch lost;  // with what the keeper and the table kept of it, none of which is the next one's
  FillTimes(half, control_->epoch_start_ns[half ^ 1], lost);
  lost.vitals.resize(TELLTALE_VITALS);
  keeper_->Finish(lost);
  unread_ = true;
  ++number_;  // the running epoch has the next one's seed
  BeginTable();
  for (std::vector<RawKnobChange>& changes : knob_changes_) changes.clear();
  return absl::DataLossError(
      absl::StrCat(why.message(),
                   "; this epoch is lost, the next one says how much; see that the agent can open "
                   "files (LimitNOFILE) and has memory"));
}

// Nobody writes that half meanwhile: programs take the one in use, and this comes before the next
// flip. Who still wrote it when it was left has ended (barrier), and no CPU has anything of it left
// to give at its next switch (flush). The pass empties what tasks hold of it, and last rows of
// those that ended before are dropped, or processes would have more than the totals of their epoch.
// If one of these fails again the half stays as it is, and no cut flips to it.
absl::Status BpfSensor::Impl::ClearUnread() {
  if (!unread_) return absl::OkStatus();
  const uint32_t half = (control_->half & 1) ^ 1;
  const absl::Status closed = CloseLeftHalf(nullptr);
  Nowhere nowhere;
  ProcessTable no_table(0);
  const absl::Status dropped = router_.Drain(nowhere, no_table, half).status();
  if (!closed.ok()) return closed;
  if (!dropped.ok()) return dropped;
  RawEpoch lost;
  backlog_ = ReadEpoch(Halves(half), Bitmaps(half), *control_, backlog_, 1, lost).backlog_end;
  Clear(half);
  unread_ = false;
  // Its samples, and those lost already, are among these events.
  for (const RawVital& vital : lost.vitals) {
    RawLoss loss{LossKind::kCutFailed, vital.id, 0, 0};
    for (const RawSub& sub : vital.subs) {
      loss.events += sub.events;
      loss.weight += sub.weight;
    }
    if (loss.events != 0) given_up_.push_back(loss);
  }
  for (const RawLoss& loss : lost.losses) {
    if (loss.vital == 0) given_up_.push_back(loss);
  }
  return absl::OkStatus();
}

const HalfBitmaps& BpfSensor::Impl::Bitmaps(uint32_t half) const {
  return bitmaps_map_.At<telltale_bitmaps>(0)->word[half];
}

void BpfSensor::Impl::Clear(uint32_t half) {
  memset(&bitmaps_map_.At<telltale_bitmaps>(0)->word[half], 0, sizeof(HalfBitmaps));
  memset(&group_map_.At<telltale_group>(0)->half[half], 0, sizeof(telltale_group_half));
  for (uint32_t cpu = 0; cpu <= possible_cpus_; ++cpu) {
    memset(&cpus_map_.At<telltale_cpu>(cpu)->half[half], 0, sizeof(telltale_half));
  }
}

absl::StatusOr<RawEpoch> BpfSensor::Impl::Cut(SampleSink& sink) {
  const uint32_t old = control_->half & 1;
  if (absl::Status status = router_.Drain(sink, *table_, old).status(); !status.ok()) return status;
  if (absl::Status status = ClearUnread(); !status.ok()) return status;
  for (telltale_bucket& bucket : cpus_map_.At<telltale_cpu>(possible_cpus_)->bucket) {
    bucket = {ClockNs(CLOCK_MONOTONIC), control_->pass_token_burst, 0};
  }
  if (absl::Status status = keeper_->ChargeWaits(); !status.ok()) return status;
  const uint64_t now = ClockNs(CLOCK_MONOTONIC);
  if (absl::Status status = Flip(sink, now); !status.ok()) return GiveUp(status);

  RawEpoch epoch;
  FillTimes(old, now, epoch);
  const uint64_t length = now - epoch.start_mono_ns;
  const auto seconds = static_cast<uint32_t>(
      std::clamp<uint64_t>((length + kNsPerS - 1) / kNsPerS, 1, TELLTALE_SECONDS));
  const EpochSums sums = ReadEpoch(Halves(old), Bitmaps(old), *control_, backlog_, seconds, epoch);
  ReadGroup(group_map_.At<telltale_group>(0)->half[old], epoch);
  backlog_ = sums.backlog_end;
  // An end may go unseen (where the kernel runs no program while certain tasks are current, or
  // programs are there part of the time): so that the error of one epoch does not stay for ever,
  // each begins with what is open.
  backlog_[TELLTALE_BACKLOG_DISK] = RequestsInFlight();
  backlog_[TELLTALE_BACKLOG_LOCK] = LocksOpenAtCut(Blocks(), old ^ 1);
  Clear(old);
  table_->AddIrq(sums.irq.data());
  table_->Finish(epoch);
  BeginTable();
  AddLosses(epoch);
  for (unsigned v = 0; v < TELLTALE_VITALS; ++v) {
    epoch.vitals[v].knobs = std::move(knob_changes_[v]);
    knob_changes_[v].clear();
  }
  keeper_->Finish(epoch);
  AdaptKnobs(sums.dry_spells, now);
  for (unsigned v = 0; v < TELLTALE_VITALS; ++v) {
    total_[v] = epoch.vitals[v].cells.Sum();
    uint64_t events = 0;
    for (const RawSub& sub : epoch.vitals[v].subs) events += sub.events;
    SetGroup(*control_, old, v, events / seconds,
             sketch::CountDistinct(epoch.vitals[v].bitmap).estimate);
  }
  ++number_;
  return epoch;
}

// Of the host, or of those that the cgroup issued.
int64_t BpfSensor::Impl::RequestsInFlight() const {
  if (!scope_) return DiskRequestsInFlight();
  int64_t open = 0;
  for (const Group& group : groups_) open += group.programs->Entries("open_requests");
  return open;
}

absl::StatusOr<RawEpoch> BpfSensor::Impl::Peek() {
  const uint32_t half = control_->half & 1;
  const uint64_t now = ClockNs(CLOCK_MONOTONIC);
  RawEpoch epoch;
  FillTimes(half, now, epoch);
  const auto seconds = static_cast<uint32_t>(
      std::clamp<uint64_t>((epoch.watched_ns + kNsPerS - 1) / kNsPerS, 1, TELLTALE_SECONDS));
  ReadEpoch(Halves(half), Bitmaps(half), *control_, backlog_, seconds, epoch);
  return epoch;
}

BpfSensor::BpfSensor(BpfSensorOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
BpfSensor::~BpfSensor() = default;
absl::Status BpfSensor::Start() { return impl_->Start(); }
std::vector<VitalStatus> BpfSensor::Status() const { return impl_->Status(); }
std::vector<SourceStatus> BpfSensor::Sources() const { return impl_->Sources(); }
absl::StatusOr<uint64_t> BpfSensor::Drain(SampleSink& sink) { return impl_->Drain(sink); }
SensorRest BpfSensor::Rest() { return impl_->Rest(); }
absl::StatusOr<RawEpoch> BpfSensor::Cut(SampleSink& sink) { return impl_->Cut(sink); }
absl::StatusOr<RawEpoch> BpfSensor::Peek() { return impl_->Peek(); }

}  // namespace telltale::agent
