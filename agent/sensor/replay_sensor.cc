#include "agent/sensor/replay_sensor.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "agent/sensor/replay_sites.h"
#include "sketch/layout.h"
#include "sketch/time_units.h"
#include "sketch/vitals.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kCompilerLife = 700'000'000;  // ns
constexpr size_t kMaxSeconds = 64;
constexpr size_t kMaxQueue = 100'000;
constexpr std::string_view kIrqComm = "[irq]";

std::array<char, 16> CommOf(std::string_view name) {
  std::array<char, 16> comm{};
  std::memcpy(comm.data(), name.data(), std::min(name.size(), comm.size() - 1));
  return comm;
}

RawProcess NewProcess(size_t program, uint32_t tgid, uint64_t start_ns) {
  const ReplayProgram& p = ReplayPrograms()[program];
  RawProcess process;
  process.tgid = tgid;
  process.uid = p.uid;
  process.comm = CommOf(p.name);
  process.start_ns = start_ns;
  process.exe = ReplayExe(program);
  process.cgroup_id = ReplayCgroup(program);
  process.rss_pages = 2'000 + ReplayMix(program) % 20'000;
  process.own_pages = process.rss_pages / 2;
  process.open_files = 16 + ReplayMix(program) % 200;
  process.threads = p.threads;
  return process;
}

void AddShare(RawProcess& account, uint8_t vital, uint8_t sub, uint64_t events, uint64_t weight) {
  for (RawProcess::Share& share : account.shares) {
    if (share.vital != vital || share.sub != sub) continue;
    share.events += events;
    share.weight += weight;
    return;
  }
  account.shares.push_back({vital, sub, events, weight});
}

}  // namespace

// `events` events of equal weight, spread over [from, to), from one code site of one process.
struct ReplaySensor::Activity {
  RawProcess* account;
  size_t program;
  uint32_t site;
  uint8_t vital, sub;
  bool irq;
  uint64_t events, weight;  // weight of all of them
  uint64_t from_ns, to_ns;
  std::array<uint64_t, kMaxLabelFields> label{};
};

namespace {

HistogramOp BlockHistogram(uint8_t sub) {
  return static_cast<HistogramOp>(static_cast<int>(HistogramOp::kBlockDisk) + sub);
}

void AddToHistogram(RawEpoch& epoch, HistogramOp op, uint64_t value_ns, uint64_t events) {
  auto it = std::ranges::find(epoch.histograms, op, &RawHistogram::op);
  if (it == epoch.histograms.end()) {
    it = epoch.histograms.insert(epoch.histograms.end(), RawHistogram{});
    it->op = op;
    it->r = 4;
  }
  const auto bucket =
      value_ns == 0 ? 0 : static_cast<size_t>(4 * std::log2(static_cast<double>(value_ns)));
  if (it->buckets.size() <= bucket) it->buckets.resize(bucket + 1, 0);
  it->buckets[bucket] += events;
  it->sum += value_ns * events;
  it->entries += events;
  it->exits += events;
}

}  // namespace

ReplaySensor::ReplaySensor(ReplayOptions options) : options_(std::move(options)) {}

bool ReplaySensor::Available(uint8_t vital) const {
  return std::ranges::count(options_.unavailable, vital) == 0;
}

double ReplaySensor::Uniform() {
  random_ = ReplayMix(random_);
  return static_cast<double>(random_ >> 11) * 0x1p-53;
}

absl::Status ReplaySensor::Start() {
  started_ns_ = options_.mono_ns();
  random_ = ReplayMix(options_.seed);
  for (size_t i = 0; i < ReplayPrograms().size(); ++i) {
    const ReplayProgram& program = ReplayPrograms()[i];
    if (program.short_lived) continue;
    for (uint32_t n = 0; n < program.processes; ++n) {
      alive_.emplace_back(i, NewProcess(i, next_tgid_++, started_ns_ - started_ns_ / 2));
    }
  }
  for (const sketch::Vital& vital : sketch::Vitals()) t_log2_[vital.id] = 1;
  BeginEpoch(started_ns_);
  return absl::OkStatus();
}

std::vector<VitalStatus> ReplaySensor::Status() const {
  std::vector<VitalStatus> statuses;
  for (const sketch::Vital& vital : sketch::Vitals()) {
    if (Available(vital.id)) {
      statuses.push_back({vital.id, VitalState::kActive, "replay", ""});
    } else {
      statuses.push_back({vital.id, VitalState::kUnavailable, "", "left out of the replay"});
    }
  }
  return statuses;
}

void ReplaySensor::BeginEpoch(uint64_t start_ns) {
  const uint64_t number = epoch_.start_mono_ns == 0 ? 0 : epoch_.number + 1;
  epoch_ = {};
  epoch_.number = number;
  epoch_.seed = ReplayMix(options_.seed ^ ReplayMix(number));
  epoch_.start_mono_ns = start_ns;
  epoch_.map_bytes = 4 << 20;
  played_to_ns_ = start_ns;
  // Who a process is stays, what it did begins anew.
  for (auto& [program, account] : alive_) {
    account = NewProcess(program, account.tgid, account.start_ns);
  }
  for (const sketch::Vital& vital : sketch::Vitals()) {
    if (!Available(vital.id)) continue;
    RawVital raw;
    raw.id = vital.id;
    raw.quantum = vital.quantum;
    raw.t_log2 = t_log2_[vital.id];
    raw.subs.resize(vital.subs.size());
    raw.bitmap.assign(TELLTALE_BITMAP_BITS / 64, 0);
    slots_[vital.id].assign(TELLTALE_COLUMNS, {});
    epoch_.vitals.push_back(std::move(raw));
    tokens_[vital.id] = options_.samples_per_vital;
    // As the kernel's: t doubles when tokens ran dry twice, halves after two quiet epochs.
    quiet_epochs_[vital.id] = dry_[vital.id] == 0 ? quiet_epochs_[vital.id] + 1 : 0;
    dry_[vital.id] = 0;
    uint8_t& t = t_log2_[vital.id];
    if (quiet_epochs_[vital.id] >= 2 && t > 1) {
      epoch_.vitals.back().knobs.push_back(
          {start_ns, KnobKind::kTLog2, t, static_cast<uint64_t>(t - 1)});
      epoch_.vitals.back().t_log2 = --t;
      quiet_epochs_[vital.id] = 0;
    }
  }
}

void ReplaySensor::AdvanceTo(uint64_t now_ns, bool part_of_second) {
  while (played_to_ns_ < now_ns) {
    const uint64_t in_epoch = played_to_ns_ - epoch_.start_mono_ns;
    const uint64_t boundary = epoch_.start_mono_ns + (in_epoch / kNsPerS + 1) * kNsPerS;
    if (boundary > now_ns && !part_of_second) return;
    const uint64_t to = std::min(boundary, now_ns);
    Play(played_to_ns_, to);
    played_to_ns_ = to;
  }
}

double ReplaySensor::FactorOf(uint8_t vital, const ReplayProgram& program) const {
  double factor = options_.intensity;
  const uint64_t second = (played_to_ns_ - started_ns_) / kNsPerS;
  for (const ReplayIncident& incident : options_.incidents) {
    const bool now = second >= incident.from_s && second < incident.to_s;
    if (now && incident.vital == vital && incident.program == program.name)
      factor *= incident.factor;
  }
  return factor;
}

void ReplaySensor::Play(uint64_t from_ns, uint64_t to_ns) {
  const double seconds = static_cast<double>(to_ns - from_ns) / 1e9;
  double demand = 0;
  for (const ReplayProgram& program : ReplayPrograms()) {
    demand += program.rate[TELLTALE_CPU] * program.processes * FactorOf(TELLTALE_CPU, program);
  }
  const double cpu_scale = std::min(1.0, 0.8e9 * options_.cpus / std::max(1.0, demand));
  for (auto& [program, account] : alive_) {
    PlayProcess(account, program, from_ns, to_ns, cpu_scale);
  }
  for (size_t i = 0; i < ReplayPrograms().size(); ++i) {
    const ReplayProgram& program = ReplayPrograms()[i];
    if (!program.short_lived) continue;
    compilers_due_ += program.processes * seconds * options_.intensity * (0.5 + Uniform());
    for (; compilers_due_ >= 1; compilers_due_ -= 1) Compile(i, from_ns, to_ns, cpu_scale);
  }
}

void ReplaySensor::Compile(size_t program, uint64_t from_ns, uint64_t to_ns, double cpu_scale) {
  const uint64_t life = std::min(kCompilerLife, to_ns - from_ns);
  const uint64_t begin = from_ns + static_cast<uint64_t>(Uniform() * (to_ns - from_ns - life));
  RawProcess account = NewProcess(program, next_tgid_++, begin);
  account.exited = true;
  RawEvent event{.mono_ns = begin,
                 .kind = RawEventKind::kExec,
                 .tgid = account.tgid,
                 .uid = account.uid,
                 .comm = account.comm,
                 .start_ns = begin,
                 .cgroup_id = account.cgroup_id,
                 .exe = account.exe,
                 .path = std::string(ReplayPrograms()[program].path)};
  if (queue_.size() < kMaxQueue) queue_.emplace_back(event);
  PlayProcess(account, program, begin, begin + life, cpu_scale);
  event.mono_ns = begin + life;
  event.kind = RawEventKind::kExit;
  event.path.clear();
  event.exit_code = Uniform() < 0.02 ? 1u << 8 : 0;
  if (queue_.size() < kMaxQueue) queue_.emplace_back(event);
  epoch_.processes.push_back(std::move(account));
}

void ReplaySensor::PlayProcess(RawProcess& account, size_t program, uint64_t from_ns,
                               uint64_t to_ns, double cpu_scale) {
  const ReplayProgram& p = ReplayPrograms()[program];
  const double ns = static_cast<double>(to_ns - from_ns), seconds = ns / 1e9;
  const double task_ns = ns * p.threads;
  double run = 0, delay = 0;
  for (const sketch::Vital& vital : sketch::Vitals()) {
    if (vital.id == TELLTALE_BLOCKING || !Available(vital.id)) continue;
    const double burst = Uniform() < 1.0 / 50 ? 3 : 1;
    double weight =
        p.rate[vital.id] * seconds * FactorOf(vital.id, p) * burst * (0.8 + 0.4 * Uniform());
    if (vital.id == TELLTALE_CPU) run = weight = std::min(weight * cpu_scale, 0.9 * task_ns);
    if (vital.id == TELLTALE_SCHED_DELAY) {
      delay = weight = std::min(weight, 0.9 * (task_ns - run));
    }
    Work(account, program, vital.id, weight, from_ns, to_ns);
  }
  const auto blocked = static_cast<double>(
      static_cast<uint64_t>(task_ns) - static_cast<uint64_t>(run) - static_cast<uint64_t>(delay));
  if (Available(TELLTALE_BLOCKING))
    Work(account, program, TELLTALE_BLOCKING, blocked, from_ns, to_ns);
  account.run_ns += static_cast<uint64_t>(run);
  account.user_ns += static_cast<uint64_t>(run * 0.7);
  account.system_ns += static_cast<uint64_t>(run) - static_cast<uint64_t>(run * 0.7);
  account.queue_ns += static_cast<uint64_t>(delay);
  account.blocked_ns += static_cast<uint64_t>(blocked);
  account.task_ns += static_cast<uint64_t>(task_ns);
  account.switches_voluntary += static_cast<uint64_t>(blocked / 8e6);
  account.switches_involuntary += static_cast<uint64_t>(delay / 250e3);
  epoch_.task_ns += static_cast<uint64_t>(task_ns);
}

// Spreads `weight` over the program's code sites by Zipf's law. Time is spread to the last ns.
void ReplaySensor::Work(RawProcess& account, size_t program, uint8_t vital, double weight,
                        uint64_t from_ns, uint64_t to_ns) {
  const ReplayProgram& p = ReplayPrograms()[program];
  double norm = 0;
  for (uint32_t site = 0; site < p.sites; ++site) norm += 1.0 / (site + 1);
  auto left = static_cast<uint64_t>(weight);
  for (uint32_t site = p.sites; site-- > 0;) {
    const double share = weight / (site + 1) / norm;
    const double typical = ReplayEventWeight(vital);
    Activity a{.account = &account,
               .program = program,
               .site = site,
               .vital = vital,
               .sub = ReplaySubOf(vital, p, site, account.tgid),
               .irq = vital == TELLTALE_SOFTIRQ,
               .events = static_cast<uint64_t>(share / typical + Uniform()),
               .weight = 0,
               .from_ns = from_ns,
               .to_ns = to_ns};
    a.weight = static_cast<uint64_t>(static_cast<double>(a.events) * typical);
    if (IsTaskTime(vital)) {  // run, delay and blocked must add up
      a.weight = site == 0 ? left : std::min(left, a.weight);
      if (site == 0) a.events = std::max<uint64_t>(1, a.events);
    }
    left -= std::min(left, a.weight);
    if (a.events == 0 || a.weight == 0) continue;
    const auto fields = sketch::FindVital(vital)->label;
    for (size_t f = 0; f < fields.size(); ++f) {
      a.label[f] = ReplayFieldValue(fields[f], account, p, vital, a.sub, site, 0);
    }
    Count(a);
    if (IsPaired(vital)) {
      ++a.sub;  // issued and done, generated and delivered, alloc and free
      Count(a);
    }
  }
}

void ReplaySensor::Count(const Activity& a) {
  RawVital& vital = *std::ranges::find(epoch_.vitals, a.vital, &RawVital::id);
  RawSub& sub = vital.subs[a.sub];
  const size_t second =
      std::min<size_t>((a.from_ns - epoch_.start_mono_ns) / kNsPerS, kMaxSeconds - 1);
  sub.events += a.events;
  sub.weight += a.weight;
  if (sub.second_weight.size() <= second) sub.second_weight.resize(second + 1, 0);
  sub.second_weight[second] += a.weight;
  if (sketch::FindVital(a.vital)->has_backlog) {
    const int64_t level = vital.backlog.empty() ? 0 : vital.backlog.back();
    if (vital.backlog.size() <= second) vital.backlog.resize(second + 1, level);
    if (IsPaired(a.vital))
      vital.backlog.back() += (a.sub % 2 == 0 ? 1 : -1) * static_cast<int64_t>(a.events);
  }
  const uint64_t each = a.weight / a.events;
  if (a.vital == TELLTALE_SCHED_DELAY)
    AddToHistogram(epoch_, HistogramOp::kRunqueueWait, each, a.events);
  if (a.vital == TELLTALE_BLOCKING) AddToHistogram(epoch_, BlockHistogram(a.sub), each, a.events);
  if (a.vital == TELLTALE_LOCK) AddToHistogram(epoch_, HistogramOp::kLockWait, each, a.events);
  if (a.vital == TELLTALE_DISK_IO && a.sub % 2 == 1) {
    const bool read = a.sub == TELLTALE_DISK_READ_DONE;
    (read ? a.account->read_bytes : a.account->write_bytes) += a.weight;
    AddToHistogram(epoch_, read ? HistogramOp::kDiskRead : HistogramOp::kDiskWrite,
                   80'000 + ReplayMix(random_) % 400'000, a.events);
  }
  if (a.vital == TELLTALE_USER_PAGE) {
    (a.sub == TELLTALE_FAULT_MAJOR ? a.account->faults_major : a.account->faults_minor) += a.events;
  }
  if (!a.irq) AddShare(*a.account, a.vital, a.sub, a.events, a.weight);

  struct {
    uint64_t seed, vital, inode, uid;
    std::array<uint64_t, kMaxLabelFields> label;
  } const key{epoch_.seed, a.vital, a.irq ? 0 : a.account->exe.inode, a.irq ? 0 : a.account->uid,
              a.label};
  const uint64_t hash = XXH3_64bits(&key, sizeof key);
  telltale_slot& slot = slots_[a.vital][hash >> TELLTALE_CELL_SHIFT];
  const uint64_t bit = hash >> TELLTALE_BITMAP_SHIFT & (TELLTALE_BITMAP_BITS - 1);
  vital.bitmap[bit / 64] |= uint64_t{1} << bit % 64;
  const uint64_t before = slot.total;
  telltale_add(&slot, hash, a.weight, 0, /*powers=*/0, 0);
  SampleIfCrossed(a, hash, before);
}

// Design section 4: an event is eligible iff a power t^j lies in (floor(old/q), floor(new/q)].
void ReplaySensor::SampleIfCrossed(const Activity& a, uint64_t hash, uint64_t before) {
  RawVital& vital = *std::ranges::find(epoch_.vitals, a.vital, &RawVital::id);
  const uint64_t each = std::max<uint64_t>(1, a.weight / a.events), after = before + a.weight;
  const int t_log2 = t_log2_[a.vital];
  uint64_t last_k = 0;
  for (int j = 0; j * t_log2 < 63; ++j) {
    const uint64_t power = uint64_t{1} << (j * t_log2);
    if (power <= before / vital.quantum) continue;
    if (power > after / vital.quantum) return;
    // The event that crosses is the k-th of the equal ones; it may jump over several powers.
    const uint64_t k = std::min((power * vital.quantum - before + each - 1) / each, a.events);
    if (k == std::exchange(last_k, k)) continue;
    if (tokens_[a.vital] == 0) {
      epoch_.losses.push_back({LossKind::kTokensRefused, a.vital, 1, each});
      if (++dry_[a.vital] == 2 && t_log2 < 16) {
        vital.knobs.push_back({a.from_ns, KnobKind::kTLog2, static_cast<uint64_t>(t_log2),
                               static_cast<uint64_t>(t_log2 + 1)});
        vital.t_log2 = ++t_log2_[a.vital];
        return;
      }
      continue;
    }
    if (queue_.size() >= kMaxQueue) {
      epoch_.losses.push_back({LossKind::kRingFull, a.vital, 1, each});
      continue;
    }
    --tokens_[a.vital];
    RawSample sample = SampleOf(a, hash);
    sample.cell_before = before + (k - 1) * each;
    sample.cell_after = before + k * each;
    sample.mono_ns = a.from_ns + (a.to_ns - a.from_ns) * k / (a.events + 1);
    queue_.emplace_back(std::move(sample));
  }
}

RawSample ReplaySensor::SampleOf(const Activity& a, uint64_t hash) const {
  const ReplayProgram& program = ReplayPrograms()[a.program];
  const sketch::Vital& vital = *sketch::FindVital(a.vital);
  RawSample s;
  s.vital = a.vital;
  s.sub = a.sub;
  s.in_irq = a.irq;
  s.cpu = static_cast<uint32_t>(ReplayMix(hash) % options_.cpus);
  s.tid = s.tgid = a.account->tgid;
  s.uid = a.account->uid;
  s.comm = a.account->comm;
  s.start_ns = a.account->start_ns;
  s.cgroup_id = a.account->cgroup_id;
  s.exe = a.account->exe;
  s.weight = std::max<uint64_t>(1, a.weight / a.events);
  s.label_hash = hash;
  s.t_log2 = t_log2_.at(a.vital);
  s.label = a.label;
  for (size_t f = 0; f < vital.detail.size(); ++f) {
    s.detail[f] =
        ReplayFieldValue(vital.detail[f], *a.account, program, a.vital, a.sub, a.site, s.weight);
  }
  s.addresses[0] = {4, {10, 0, 0, 1}};
  s.addresses[1] = {4, {10, 0, 7, static_cast<uint8_t>(a.site)}};
  // Call paths: the leaf is the site; deeper frames are shared by neighbouring sites.
  const auto path = [&](uint32_t depth) {
    return static_cast<uint32_t>(ReplayMix(a.site / (1 + depth) * 977 + depth * 31 + a.vital));
  };
  s.stack.kernel_wanted = !(a.vital == TELLTALE_SYSCALL || a.vital == TELLTALE_USER_PAGE);
  s.stack.user_wanted = !program.path.empty() && !a.irq;
  if (s.stack.kernel_wanted) {
    for (uint32_t d = 0; d < 6; ++d) s.stack.kernel.push_back(ReplayKernelAddress(path(d), 0x41));
  }
  if (s.stack.user_wanted) {
    s.stack.user_end = UserEnd::kComplete;
    for (uint32_t d = 0; d < 4 + a.site % 9; ++d) {
      s.stack.user.push_back(
          ReplayUserAddress(s.tgid, d == 0, 0x1000 + (path(d) % 0x400) * 0x100 + 0x21));
    }
  }
  if (a.vital == TELLTALE_BLOCKING || a.vital == TELLTALE_SCHED_DELAY) {
    RawPeer& peer = a.vital == TELLTALE_BLOCKING ? s.waker : s.ran_instead;
    peer = {.tid = 1000 + a.site,
            .tgid = 1000 + a.site,
            .start_ns = started_ns_,
            .comm = CommOf("nginx"),
            .stack = {}};
  }
  return s;
}

RawEpoch ReplaySensor::EpochSoFar(uint64_t end_ns) const {
  RawEpoch epoch = epoch_;
  epoch.end_mono_ns = end_ns;
  epoch.watched_ns = end_ns - epoch.start_mono_ns;
  for (const auto& [program, account] : alive_) epoch.processes.push_back(account);
  for (RawVital& vital : epoch.vitals) {
    const std::span<const telltale_slot> row(slots_.at(vital.id));
    vital.cells = sketch::AddUp({&row, 1});
  }
  RawProcess irq;
  irq.comm = CommOf(kIrqComm);
  for (const RawVital& vital : epoch.vitals) {
    if (vital.id != TELLTALE_SOFTIRQ) continue;
    for (size_t sub = 0; sub < vital.subs.size(); ++sub) {
      AddShare(irq, vital.id, static_cast<uint8_t>(sub), vital.subs[sub].events,
               vital.subs[sub].weight);
    }
  }
  epoch.processes.push_back(std::move(irq));
  return epoch;
}

uint64_t ReplaySensor::Deliver(SampleSink& sink) {
  for (const auto& record : queue_) {
    if (const auto* sample = std::get_if<RawSample>(&record)) sink.OnSample(*sample);
    if (const auto* event = std::get_if<RawEvent>(&record)) sink.OnEvent(*event);
  }
  const uint64_t delivered = queue_.size();
  queue_.clear();
  return delivered;
}

absl::StatusOr<uint64_t> ReplaySensor::Drain(SampleSink& sink) {
  AdvanceTo(options_.mono_ns(), /*part_of_second=*/false);
  return Deliver(sink);
}

absl::StatusOr<RawEpoch> ReplaySensor::Cut(SampleSink& sink) {
  const uint64_t now = std::max(options_.mono_ns(), played_to_ns_);
  AdvanceTo(now, /*part_of_second=*/true);
  Deliver(sink);
  RawEpoch epoch = EpochSoFar(now);
  BeginEpoch(now);
  return epoch;
}

absl::StatusOr<RawEpoch> ReplaySensor::Peek() {
  const uint64_t now = std::max(options_.mono_ns(), played_to_ns_);
  AdvanceTo(now, /*part_of_second=*/true);
  return EpochSoFar(now);
}

}  // namespace telltale::agent
