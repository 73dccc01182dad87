// What a sensor is: the source of kernel events of one node, seen from the rest of the agent.
//
// Two implementations: BpfSensor (bpf_sensor.h) watches this host's kernel; ReplaySensor
// (replay_sensor.h) gives out recorded or synthetic epochs for tests and the simulator. The agent's
// sensor thread owns a Sensor and is the only one that calls it.
//
// Units: times are CLOCK_MONOTONIC ns; weights are in the unit of their vital (sketch/vitals.h):
// ns, bytes, pages, calls. Values that come from the kernel about a monitored process (comm,
// addresses) are untrusted: they are bounded here and escaped where they are shown.

#ifndef TELLTALE_AGENT_SENSOR_SENSOR_H_
#define TELLTALE_AGENT_SENSOR_SENSOR_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sketch/votes.h"

namespace telltale::agent {

// Identity of an executable file, as the kernel sees it; a path is found later, in user space.
struct ExeId {
  uint64_t device = 0;  // kernel's dev_t
  uint64_t inode = 0;   // 0: no executable (kernel thread) or [irq]
  uint32_t generation = 0;
  friend bool operator==(const ExeId&, const ExeId&) = default;
};

// Where a user stack ends, and why there; the numbers equal telltale.v1.StackEnd.
enum class UserEnd : uint8_t {
  kNone = 0,
  kComplete = 1,        // where the thread began
  kDepth = 2,           // frame limit reached
  kUnreadable = 3,      // nothing of the stack could be copied
  kProcessGone = 6,     // before its maps were read
  kWindow = 7,          // the caller's frame lies beyond what was copied
  kNoTable = 8,         // code without unwind information and without a frame pointer
  kBadPlace = 9,        // what should be a return address is no code
  kBadFrame = 10,       // the rule leads to no frame above
  kUnsupported = 11,    // the code's unwind information says something we cannot follow
  kGenerated = 12,      // code made at run time, without frame pointers
  kFramePointers = 13,  // walked in the kernel by frame pointers, which may skip or lack frames
  kPostponed = 14,      // the table of the code is to be built when there is time for it
  kMapsLimit = 15       // beyond the mappings that are kept of a process with very many
};
inline constexpr size_t kUserEnds = 16;

// A stack, leaf first. An errno says why a part is missing.
struct RawStack {
  std::vector<uint64_t> kernel;
  std::vector<uint64_t> user;
  int kernel_errno = 0;     // 0: as far as there was room (or not asked for)
  bool kernel_cut = false;  // as many frames as there is room for: there may have been more
  int user_errno = 0;
  bool kernel_wanted = false;  // false: this hook takes no such stack, absence is not a loss
  bool user_wanted = false;
  UserEnd user_end = UserEnd::kNone;
};

// Another task named by a sample: who ran instead, who woke, who held.
struct RawPeer {
  uint32_t tid = 0;  // 0: none, or with a comm the pseudo-process [irq]
  uint32_t tgid = 0;
  uint64_t start_ns = 0;  // task start, CLOCK_MONOTONIC (boot clock where the kernel has only that)
  std::array<char, 16> comm{};
  RawStack stack;  // kernel part only, often empty
};

inline constexpr int kMaxLabelFields = 8;
inline constexpr int kMaxDetailFields = 16;

// An endpoint's address. A kAddress detail is 0 (none) or 1 + index into RawSample::addresses.
struct RawAddress {
  uint8_t family = 0;               // 4, 6, or 0: none
  std::array<uint8_t, 16> bytes{};  // network order; IPv4 uses the first four
};

// One event kept whole because its sketch cell passed a power of t.
// label and detail hold the vital's fields in the order of its descriptor (sketch/vitals.h), after
// the two every label begins with, exe and uid, which stand in `exe` and `uid`.
struct RawSample {
  uint64_t mono_ns = 0;
  uint8_t vital = 0;
  uint8_t sub = 0;
  bool open = false;     // an interval still going on at the cut
  bool of_pass = false;  // of a wait that the task iterator met, not of an event
  bool in_irq = false;   // belongs to the pseudo-process [irq]
  uint32_t cpu = 0;
  uint32_t tid = 0;
  uint32_t tgid = 0;
  uint32_t uid = 0;
  std::array<char, 16> comm{};
  uint64_t start_ns = 0;  // process (thread group leader) start
  uint32_t parent = 0;    // process it was forked from and whose program it still runs, else 0
  uint64_t cgroup_id = 0;
  ExeId exe;
  uint64_t weight = 0;
  uint64_t cell_before = 0;  // of the per-CPU cell
  uint64_t cell_after = 0;
  uint64_t label_hash = 0;  // keyed by the epoch's seed; finds the label's cells again
  uint8_t t_log2 = 1;       // t = 2^t_log2 when the event was sampled
  uint32_t duty_ppm = 1'000'000;
  std::array<uint64_t, kMaxLabelFields> label{};
  std::array<uint64_t, kMaxDetailFields> detail{};
  std::array<RawAddress, 2> addresses;  // local, remote
  RawStack stack;
  RawPeer ran_instead, waker, holder;
};

// Exact totals of one sub-series (exact after the epoch's losses).
struct RawSub {
  uint64_t events = 0;
  uint64_t weight = 0;
  std::vector<uint64_t> second_weight;  // [second since epoch start], taken in the kernel
};

// What a part of the agent (agent/governor/parts.h) took in the epoch, as reckoned, and how far it
// is turned down at the cut.
struct RawCost {
  uint8_t part = 0;
  uint64_t ns = 0;  // CPU time
  uint8_t level = 0;
};

// The numbers equal telltale.v1.Knob.
enum class KnobKind : uint8_t {
  kTLog2 = 1,
  kTokens,
  kQuantum,
  kDuty,
  kStacks,  // of samples; what is told of waits is kWaits
  kLeastRun,
  kAttached,
  kWaits,
};
struct RawKnobChange {
  uint64_t mono_ns = 0;
  KnobKind knob = KnobKind::kTLog2;
  uint64_t from = 0, to = 0;
};

// Loss reasons; the numbers equal telltale.v1.LossReason.
enum class LossKind : uint8_t {
  kRecursion = 1,      // kernel refused to run a program inside itself
  kNestedAdd = 2,      // an interrupt's add hit a cell between its read and write (estimate)
  kSlotEvicted = 3,    // a wait or a waker's stack, put aside for a task, gave way to another's
  kTokensRefused = 4,  // eligible sample, no token left
  kRingFull = 5,       // sample found no room in the ring; of the whole sensor: record of a process
  kStackUnreadable = 6,
  kProcessGone = 7,
  kRowLimit = 8,   // process or label table full
  kDutyCycle = 9,  // program was detached on purpose
  kMapFull = 10,   // a kernel map refused an entry
  kTooOld = 11,    // ring record of an epoch already cut
  // 12 and 13 are the agent's own.
  kStackCopy = 14,  // no room to copy a user stack: walked by frame pointers instead
  kCutFailed = 15,  // counted in an earlier epoch whose cut failed
};
struct RawLoss {
  LossKind kind;
  uint8_t vital = 0;  // 0: whole sensor
  uint64_t events = 0;
  uint64_t weight = 0;
};

// A label whose weight is known exactly (sketch/miss_control.h).
struct RawExact {
  uint64_t hash = 0;
  uint64_t weight = 0;
};

struct RawVital {
  uint8_t id = 0;
  uint64_t quantum = 1;
  uint8_t t_log2 = 1;  // at the cut
  std::vector<RawSub> subs;
  sketch::VotedCells cells;      // of all CPUs; no columns: none kept
  std::vector<uint64_t> bitmap;  // distinct-label bitmap; empty: none kept
  std::vector<RawExact> group;   // the control group; empty: none kept, or it had too little room
  std::vector<int64_t> backlog;  // [second]: begun minus ended; empty where the vital has none
  std::vector<RawKnobChange> knobs;
  // What it weighs is, in all, of a process and of a label: to stay within the budget it was
  // watched a part of the time, chosen at random, or looked at now and then.
  bool estimated = false;
};

// A histogram kept in the kernel. Buckets: log2 with r sub-buckets per octave (sketch/histogram.h).
enum class HistogramOp : uint8_t {
  kDiskRead = 1,
  kDiskWrite = 2,
  kDiskFlush = 3,
  kRunqueueWait = 4,
  kLockWait = 5,
  kBlockDisk = 16,
  kBlockUninterruptible,
  kBlockLock,
  kBlockSocket,
  kBlockPipe,
  kBlockPoll,
  kBlockTimer,
  kBlockOther,
};
struct RawHistogram {
  HistogramOp op;
  uint32_t r = 1;  // sub-buckets per octave: 1, 2 or 4
  uint64_t entries = 0, exits = 0, sum = 0;
  uint32_t share_ppm = 1'000'000;  // share of the time it was on
  std::vector<uint64_t> buckets;   // dense
};

// One process (thread group) as its kernel accounts read, at the cut or at its exit. All values are
// of this epoch. `weight` is the per-CPU accumulator's share of each vital and sub-series.
struct RawProcess {
  uint32_t tgid = 0;
  uint32_t uid = 0;
  std::array<char, 16> comm{};
  uint64_t start_ns = 0;
  ExeId exe;
  uint64_t cgroup_id = 0;
  bool exited = false;
  uint64_t run_ns = 0, user_ns = 0, system_ns = 0, queue_ns = 0, blocked_ns = 0;
  // From each switch to it to the one away from it. What `run_ns` lacks to it the hypervisor had
  // (where the kernel accounts interrupts: or they).
  uint64_t on_cpu_ns = 0;
  uint64_t task_ns = 0;  // sum over its threads of the time they existed in the epoch
  uint64_t switches_voluntary = 0, switches_involuntary = 0;
  uint64_t faults_minor = 0, faults_major = 0;
  uint64_t rss_pages = 0;   // at the cut or exit
  uint64_t own_pages = 0;   // of them and of what is swapped out, the anonymous ones
  uint64_t open_files = 0;  // at the cut, 65,535 at most; 0: it exited
  uint64_t read_bytes = 0, write_bytes = 0;
  uint32_t threads = 0;
  uint32_t instances = 1;  // more: so many of a program that lived too shortly to be followed
  struct Share {
    uint8_t vital, sub;
    uint64_t events, weight;
  };
  std::vector<Share> shares;
};

enum class RawEventKind : uint8_t { kExec = 1, kExit = 2, kOom = 3 };
struct RawEvent {
  uint64_t mono_ns = 0;
  RawEventKind kind = RawEventKind::kExec;
  uint32_t tgid = 0, uid = 0;
  std::array<char, 16> comm{};
  uint64_t start_ns = 0, cgroup_id = 0;
  ExeId exe;
  uint32_t exit_code = 0;    // exit: wait status as in wait(2)
  uint32_t exit_signal = 0;  // exit: killing signal, 0 if none
  std::string path;          // exec: file name as given to the kernel, bounded to 256 bytes
  bool script = false;       // exec: `path` is not the executable, but what that one is to run
  // Exit: of more than one, so many of one program within a moment: the time is that of the first,
  // the process the last.
  uint32_t count = 1;
};

// What making user stacks of copies took. All of this epoch but the bytes.
struct RawUnwinding {
  uint64_t stacks = 0, frames = 0;
  uint64_t ns = 0;  // with the building of tables
  uint64_t tables_built = 0;
  uint64_t tables_loaded = 0;   // from disk
  uint64_t tables_damaged = 0;  // on disk: built again
  uint64_t tables_unsaved = 0;  // refused by the file system
  uint64_t table_bytes = 0;     // in memory at the cut
};

struct RawEpoch {
  uint64_t number = 0;  // cuts since the sensor's start
  uint64_t seed = 0;    // of the label hash in this epoch
  uint64_t start_mono_ns = 0, end_mono_ns = 0;
  uint64_t watched_ns = 0;  // of it attached and counting
  std::vector<RawVital> vitals;
  std::vector<RawHistogram> histograms;
  std::vector<RawProcess> processes;
  RawProcess other;  // what the process table had no row for
  // Task-seconds of the host in the epoch: on a CPU, in the queue or blocked, of all tasks.
  uint64_t task_ns = 0;
  std::vector<RawEvent> events;
  std::vector<RawLoss> losses;
  RawUnwinding unwinding;
  uint64_t map_bytes = 0;
  double budget = 0;           // share of the host's CPU time; 0: none
  std::vector<RawCost> costs;  // empty: not reckoned
};

enum class VitalState : uint8_t { kActive = 1, kDegraded = 2, kUnavailable = 3 };
struct VitalStatus {
  uint8_t id = 0;
  VitalState state = VitalState::kUnavailable;
  std::string hook;    // e.g. "tp_btf/sched_switch"; empty if unavailable
  std::string reason;  // why degraded or unavailable, with what to do; empty if active
};

// What is watched besides the vitals.
struct SourceStatus {
  std::string name;  // "starts and ends of processes"
  VitalState state = VitalState::kUnavailable;
  std::string hook;
  std::string reason;
};

// Receives samples and events in the order drained, soon after they happened, so that what needs
// the live process (its maps, its executable's name) can still be read.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  virtual void OnSample(const RawSample& sample) = 0;
  virtual void OnEvent(const RawEvent& event) = 0;
};

// How long the next Drain may be put off, and what ends that early.
struct SensorRest {
  uint64_t ns = 100'000'000;
  int fd = -1;  // readable as soon as it must not be put off any more; -1: nothing tells
};

class Sensor {
 public:
  virtual ~Sensor() = default;

  // Loads and attaches each vital on its own; a vital that cannot be watched is reported, not
  // fatal. Fails only if nothing at all can be watched. Called once.
  virtual absl::Status Start() = 0;

  // One entry per vital of the table, in id order; valid after Start.
  virtual std::vector<VitalStatus> Status() const = 0;

  // Valid after Start.
  virtual std::vector<SourceStatus> Sources() const { return {}; }

  // Hands samples and events gathered so far to `sink`. Call every 50 to 100 ms, or as Rest says.
  // Returns how many.
  virtual absl::StatusOr<uint64_t> Drain(SampleSink& sink) = 0;

  // The caller is about to wait until the next Drain.
  virtual SensorRest Rest() { return {}; }

  // Ends the running epoch and begins the next without a gap; drains to the barrier first, so every
  // sample of the ended epoch has reached `sink` when this returns. DataLoss: the epoch ended and
  // is lost, with what reached `sink`; the next one's losses say how much. Any other error: the
  // running epoch goes on.
  virtual absl::StatusOr<RawEpoch> Cut(SampleSink& sink) = 0;

  // Totals of the running epoch so far (no samples), for the crash journal and live view.
  virtual absl::StatusOr<RawEpoch> Peek() = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_SENSOR_H_
