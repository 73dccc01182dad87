#include "sketch/vitals.h"

#include <algorithm>
#include <array>

namespace telltale::sketch {
namespace {

using K = FieldKind;

constexpr std::string_view kModes[] = {"user", "kernel", "irq"};
// enum telltale_wait_end
constexpr std::string_view kWaitEnds[] = {"ended", "open", "several", "open of several"};
constexpr std::string_view kPolicies[] = {"other", "fifo", "rr",       "batch",
                                          "iso",   "idle", "deadline", "ext"};
constexpr std::string_view kDiskOps[] = {"read", "write", "flush", "discard", "other"};
constexpr std::string_view kLockKinds[] = {"mutex", "rwsem", "spin", "futex"};
constexpr std::string_view kDirections[] = {"out", "in"};

constexpr Sub kCpuSubs[] = {{"user"}, {"kernel"}, {"irq"}};
constexpr Field kCpuLabel[] = {{"ip_block", K::kHex}};  // place in the program >> 8
constexpr Field kCpuDetail[] = {{"ip", K::kIp}, {"mode", K::kEnum, kModes}};

constexpr Sub kLlcSubs[] = {{"misses"}};
constexpr Field kLlcLabel[] = {{"ip_block", K::kHex}};
constexpr Field kLlcDetail[] = {{"ip", K::kIp}};

// Waits are labelled by who waits and from where: pid, the system call it is in, its user ip and a
// rounded stack pointer, which tells call paths apart that share one libc wrapper (paper 4.2).
constexpr Sub kDelaySubs[] = {{"woken"}, {"preempted"}};
constexpr Field kWaitLabel[] = {
    {"pid", K::kPid}, {"syscall", K::kSyscall}, {"ip", K::kIp}, {"sp_block", K::kStackPointer}};
constexpr Field kDelayDetail[] = {{"priority", K::kPriority},
                                  {"policy", K::kEnum, kPolicies},
                                  {"age", K::kNanoseconds},
                                  {"state", K::kEnum, kWaitEnds}};

constexpr Sub kBlockSubs[] = {{"disk"}, {"uninterruptible"}, {"lock"},        {"socket"},
                              {"pipe"}, {"poll", true},      {"timer", true}, {"other"}};
constexpr Field kBlockDetail[] = {
    {"priority", K::kPriority}, {"age", K::kNanoseconds}, {"state", K::kEnum, kWaitEnds}};

constexpr Sub kDiskSubs[] = {{"read_issued"}, {"read_done"},    {"write_issued"},
                             {"write_done"},  {"flush_issued"}, {"flush_done"}};
constexpr Field kDiskLabel[] = {
    {"syscall", K::kSyscall}, {"ip", K::kIp}, {"device", K::kDevice}, {"op", K::kEnum, kDiskOps}};
constexpr Field kDiskDetail[] = {
    {"pid", K::kPid},    {"sector", K::kSector},       {"asked", K::kBytes},
    {"done", K::kBytes}, {"latency", K::kNanoseconds}, {"error", K::kErrno},
    {"callback", K::kIp}};

constexpr Sub kUserPageSubs[] = {{"minor"}, {"major"}};
constexpr Field kUserPageLabel[] = {{"ip_block", K::kHex}};  // ip >> 4
// Free memory: in all zones, in the low ones (DMA, DMA32), in swap.
constexpr Field kUserPageDetail[] = {{"ip", K::kIp},
                                     {"address", K::kHex},
                                     {"free_pages", K::kNumber},
                                     {"free_low_pages", K::kNumber},
                                     {"free_swap_pages", K::kNumber}};

constexpr Sub kKernelPageSubs[] = {{"alloc"}, {"free"}};
constexpr Field kKernelPageLabel[] = {{"gfp", K::kGfp}, {"syscall", K::kSyscall}, {"ip", K::kIp}};
constexpr Field kKernelPageDetail[] = {{"order", K::kOrder},
                                       {"free_pages", K::kNumber},
                                       {"free_low_pages", K::kNumber},
                                       {"free_swap_pages", K::kNumber}};

constexpr Sub kSyscallSubs[] = {{"ok"}, {"failed"}};
constexpr Field kSyscallLabel[] = {{"syscall", K::kSyscall}, {"sp_block", K::kStackPointer}};
constexpr Field kSyscallDetail[] = {{"arg0", K::kHex}, {"result", K::kSigned}};

constexpr Sub kSignalSubs[] = {{"generated"}, {"delivered"}};
constexpr Field kSignalLabel[] = {{"signal", K::kSignal}, {"ip", K::kIp}};
constexpr Field kSignalDetail[] = {{"target", K::kPid}, {"sender", K::kPid}, {"handler", K::kHex}};

constexpr Sub kSocketSubs[] = {{"sent"}, {"received"}};
constexpr Field kSocketLabel[] = {{"syscall", K::kSyscall},
                                  {"ip", K::kIp},
                                  {"protocol", K::kProtocol},
                                  {"listen_port", K::kPort}};  // 0: local port is not a listener's
constexpr Field kSocketDetail[] = {{"local_port", K::kPort},
                                   {"remote_port", K::kPort},
                                   {"local_address", K::kAddress},
                                   {"remote_address", K::kAddress},
                                   {"direction", K::kEnum, kDirections}};

constexpr Sub kLockSubs[] = {{"mutex"}, {"rwsem"}, {"spin"}, {"futex"}};
constexpr Field kLockLabel[] = {
    {"kind", K::kEnum, kLockKinds}, {"syscall", K::kSyscall}, {"ip", K::kIp}};
// Waiters: in the lock's queue with this one; 0: this kind of lock does not tell.
constexpr Field kLockDetail[] = {{"lock", K::kHex}, {"owner", K::kPid}, {"waiters", K::kNumber}};

constexpr Sub kSoftirqSubs[] = {{"timer"}, {"net_tx"}, {"net_rx"}, {"block"},
                                {"sched"}, {"rcu"},    {"other"}};
constexpr Field kSoftirqLabel[] = {{"vector", K::kNumber}};
constexpr Field kSoftirqDetail[] = {{"interrupted", K::kPid}};

constexpr Sub kReclaimSubs[] = {{"global"}, {"cgroup"}};
constexpr Field kReclaimLabel[] = {{"pid", K::kPid}, {"ip", K::kIp}};
constexpr Field kReclaimDetail[] = {{"order", K::kOrder}, {"reclaimed", K::kNumber}};

constexpr Sub kRetransmitSubs[] = {{"segments"}};
constexpr Field kRetransmitLabel[] = {{"local_port", K::kPort}, {"remote_port", K::kPort}};
constexpr Field kRetransmitDetail[] = {
    {"local_address", K::kAddress}, {"remote_address", K::kAddress}, {"tcp_state", K::kNumber}};

constexpr uint64_t kMicrosecond = 1'000, kMillisecond = 1'000'000;

// Quanta: a wait shorter than a millisecond or a delay below 64 us is too common to be worth a
// stack; one tick is the least the cpu vital can see; sizes are those of one page or one packet.
constexpr Vital kVitals[] = {
    {TELLTALE_CPU, "cpu", Unit::kNanoseconds, kMillisecond, kCpuSubs, kCpuLabel, kCpuDetail, false,
     "CPU time used, by code block"},
    {TELLTALE_LLC, "llc", Unit::kMisses, 1024, kLlcSubs, kLlcLabel, kLlcDetail, false,
     "last-level cache misses, by code block"},
    {TELLTALE_SCHED_DELAY, "sched_delay", Unit::kNanoseconds, 64 * kMicrosecond, kDelaySubs,
     kWaitLabel, kDelayDetail, false, "time runnable but not running"},
    {TELLTALE_BLOCKING, "blocking", Unit::kNanoseconds, kMillisecond, kBlockSubs, kWaitLabel,
     kBlockDetail, true, "time asleep, by what was waited for"},
    {TELLTALE_DISK_IO, "disk_io", Unit::kBytes, 4096, kDiskSubs, kDiskLabel, kDiskDetail, true,
     "bytes asked of and moved by block devices"},
    {TELLTALE_USER_PAGE, "user_page", Unit::kPages, 16, kUserPageSubs, kUserPageLabel,
     kUserPageDetail, false, "pages faulted in by user programs"},
    {TELLTALE_KERNEL_PAGE, "kernel_page", Unit::kPages, 16, kKernelPageSubs, kKernelPageLabel,
     kKernelPageDetail, true, "pages taken from and returned to the page allocator"},
    {TELLTALE_SYSCALL, "syscall", Unit::kCalls, 16, kSyscallSubs, kSyscallLabel, kSyscallDetail,
     false, "system calls made"},
    {TELLTALE_SIGNAL, "signal", Unit::kSignals, 1, kSignalSubs, kSignalLabel, kSignalDetail, false,
     "signals sent and handled"},
    {TELLTALE_SOCKET, "socket", Unit::kBytes, 1024, kSocketSubs, kSocketLabel, kSocketDetail, false,
     "bytes through sockets"},
    {TELLTALE_LOCK, "lock", Unit::kNanoseconds, 16 * kMicrosecond, kLockSubs, kLockLabel,
     kLockDetail, true, "time waiting for a contended lock"},
    {TELLTALE_SOFTIRQ, "softirq", Unit::kNanoseconds, 64 * kMicrosecond, kSoftirqSubs,
     kSoftirqLabel, kSoftirqDetail, false, "time in soft interrupts"},
    {TELLTALE_RECLAIM, "reclaim", Unit::kNanoseconds, 64 * kMicrosecond, kReclaimSubs,
     kReclaimLabel, kReclaimDetail, false, "time tasks spent freeing memory before getting any"},
    {TELLTALE_RETRANSMIT, "retransmit", Unit::kSegments, 1, kRetransmitSubs, kRetransmitLabel,
     kRetransmitDetail, false, "TCP segments sent again"},
};

static_assert(std::size(kVitals) == TELLTALE_BUILTIN_VITALS - 1, "one row per built-in id");

}  // namespace

std::span<const Vital> Vitals() { return kVitals; }

const Vital* FindVital(uint8_t id) {
  const auto* it = std::ranges::find(kVitals, id, &Vital::id);
  return it == std::end(kVitals) ? nullptr : it;
}

const Vital* FindVital(std::string_view name) {
  const auto* it = std::ranges::find(kVitals, name, &Vital::name);
  return it == std::end(kVitals) ? nullptr : it;
}

std::string_view UnitName(Unit unit) {
  switch (unit) {
    case Unit::kNanoseconds:
      return "ns";
    case Unit::kBytes:
      return "bytes";
    case Unit::kPages:
      return "pages";
    case Unit::kCalls:
      return "calls";
    case Unit::kSignals:
      return "signals";
    case Unit::kMisses:
      return "misses";
    case Unit::kSegments:
      return "segments";
  }
  return "?";
}

}  // namespace telltale::sketch
