#include "agent/sensor/control_words.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "agent/vitals/vitals.h"

namespace telltale::agent {
namespace {

constexpr uint32_t kPassBurst = 512;  // of one vital, at one cut or in the looks of an epoch
constexpr uint8_t kByFile = 0xff;     // TELLTALE_CLASS_BY_FILE in bpf/wait.bpf.h

// What an interruptible wait inside each system call is a wait for. Not listed: other.
void FillSyscallClasses(uint8_t* classes) {
  const auto set = [classes](uint8_t value, std::initializer_list<long> numbers) {
    for (const long nr : numbers) classes[nr] = value;
  };
  set(TELLTALE_BLOCK_LOCK + 1, {SYS_futex, SYS_futex_waitv, SYS_flock, SYS_semop, SYS_semtimedop});
  set(TELLTALE_BLOCK_SOCKET + 1, {SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg,
                                  SYS_sendmmsg, SYS_accept4, SYS_connect});
  set(TELLTALE_BLOCK_POLL + 1,
      {SYS_ppoll, SYS_pselect6, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_rt_sigtimedwait,
       SYS_rt_sigsuspend, SYS_io_getevents, SYS_io_uring_enter});
  set(TELLTALE_BLOCK_TIMER + 1, {SYS_nanosleep, SYS_clock_nanosleep});
  set(kByFile, {SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_splice, SYS_sendfile});
#ifdef __x86_64__
  set(TELLTALE_BLOCK_SOCKET + 1, {SYS_accept});
  set(TELLTALE_BLOCK_POLL + 1, {SYS_poll, SYS_select, SYS_epoll_wait, SYS_pause});
#endif
}

// Index of the lowest set bit by de Bruijn multiplication (the BPF machine has no such
// instruction).
void FillBitIndex(uint8_t* index) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    index[((uint64_t{1} << bit) * 0x03f79d71b4cb0a89ULL) >> 58] = static_cast<uint8_t>(bit);
  }
}

// Cgroup ids: with version 1 the unified hierarchy says 1 for every task, and the memory
// controller's own cgroup is the useful one. /proc/cgroups lists controllers in the order of their
// ids.
uint32_t CgroupSubsystem() {
  if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0) return kUnifiedCgroups;
  std::ifstream list("/proc/cgroups");
  std::string line;
  uint32_t id = 0;
  while (std::getline(list, line)) {
    if (line.starts_with('#')) continue;
    if (line.starts_with("memory\t")) {
      return line.find("\t0\t") == std::string::npos ? id : kUnifiedCgroups;
    }
    ++id;
  }
  return kUnifiedCgroups;
}

// Where the kernel's code begins, and the address range of the timer interrupt's entry code, whose
// return address is the frame above the interrupted one.
void FindKernelCode(telltale_control& control) {
  std::ifstream symbols("/proc/kallsyms");
  std::string line;
  bool inside = false;
  while (std::getline(symbols, line)) {
    uint64_t address = 0;
    char type = 0, name[128] = {};
    if (sscanf(line.c_str(), "%" SCNx64 " %c %127s", &address, &type, name) != 3) continue;
    if (strcmp(name, "_stext") == 0) control.kernel_text = address;
    if (inside && address > control.timer_entry_begin) {
      control.timer_entry_end = address;
      return;
    }
    if (strcmp(name, "asm_sysvec_apic_timer_interrupt") == 0) {
      control.timer_entry_begin = address;
      inside = address != 0;
    }
  }
}

// Run-queue clocks of different CPUs agree only if the kernel trusts the TSC.
bool StableClock() {
  std::ifstream source("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  source >> name;
  return name == "tsc" || name == "kvm-clock" || name == "arch_sys_counter";
}

void ReadEphemeralPorts(uint16_t* ports) {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  ports[0] = 32768;
  ports[1] = 60999;
  uint16_t first = 0, last = 0;
  if (range >> first >> last) {
    ports[0] = first;
    ports[1] = last;
  }
}

}  // namespace

uint8_t QuantumLog2(uint64_t quantum) {
  const auto below = static_cast<uint8_t>(std::bit_width(quantum) - 1);
  // Past the geometric middle of two powers (ratio sqrt 2, 181/128) the upper one is nearer.
  return quantum - (quantum >> below << below) > (uint64_t{53} << below >> 7)
             ? static_cast<uint8_t>(below + 1)
             : below;
}

void SetTLog2(telltale_control& control, unsigned vital, uint8_t t_log2) {
  uint64_t powers = 0;
  for (unsigned bit = 0; bit < 64; bit += t_log2) powers |= uint64_t{1} << bit;
  control.knobs[vital].powers = powers;
  control.knobs[vital].t_log2 = t_log2;
}

void SetHeavy(telltale_control& control, unsigned vital, uint64_t total, uint32_t online_cpus) {
  telltale_knobs& knobs = control.knobs[vital];
  const uint64_t load =
      (total >> knobs.quantum_log2) / TELLTALE_COLUMNS / std::max(online_cpus, 1U);
  const uint64_t quanta = load >> TELLTALE_LOAD_LOG2;
  knobs.heavy_log2 = static_cast<uint8_t>(quanta == 0 ? 0 : std::bit_width(quanta) - 1);
}

void SetGroup(telltale_control& control, uint32_t half, unsigned vital, uint64_t events_per_s,
              uint64_t labels) {
  constexpr uint64_t kMostEvents = 4'000;
  constexpr uint8_t kFewLog2 = 6, kFewestLog2 = 8;
  uint8_t log2 = 0;
  while (log2 < kFewestLog2 && (labels >> log2 > TELLTALE_GROUP_LABELS / 2 ||
                                (log2 < kFewLog2 && events_per_s >> log2 > kMostEvents))) {
    ++log2;
  }
  control.knobs[vital].group_mask[half & 1] = static_cast<uint8_t>((1U << log2) - 1);
}

void InitControl(const SampleBudget& budget, uint32_t possible_cpus, uint32_t online_cpus,
                 telltale_control& control) {
  // Few vitals are busy at a time: four times the even share gives a busy one stacks from its first
  // epoch on. Were all of them busy on every CPU, the host's mean would exceed the budget as much.
  constexpr uint32_t kOvercommit = 4;
  const uint32_t shares = std::max(TELLTALE_VITALS * std::max(online_cpus, 1U) / kOvercommit, 1U);
  control.pass_tokens_per_s = std::max(budget.per_second * kOvercommit / TELLTALE_VITALS, 1U);
  control.pass_token_burst = kPassBurst;
  // Each cell is eligible once as it passes the quantum: at least that burst must not run dry, or t
  // would rise in every busy epoch for nothing.
  control.full_token_burst = std::max<uint32_t>(budget.burst / shares, TELLTALE_COLUMNS * 5 / 4);
  for (unsigned v = 0; v < TELLTALE_VITALS; ++v) {
    telltale_knobs& knobs = control.knobs[v];
    knobs.quantum_log2 = QuantumLog2(Vitals()[v].quantum);
    knobs.tokens_per_s = std::max(budget.per_second / shares, 1U);
    knobs.token_burst = control.full_token_burst;
    SetTLog2(control, v, 1);
    // Nothing is known yet: as of a busy vital.
    for (uint32_t half : {0U, 1U}) SetGroup(control, half, v, UINT64_MAX, 0);
  }
  FillSyscallClasses(control.syscall_class);
  FillBitIndex(control.bit_index);
  FindKernelCode(control);
  timespec tick = {};
  clock_getres(CLOCK_MONOTONIC_COARSE, &tick);  // exactly one tick
  control.tick_ns = static_cast<uint64_t>(tick.tv_nsec);
  control.cpus = possible_cpus;
  control.own_tgid = getpid();
  control.cgroup_subsys = CgroupSubsystem();
  ReadEphemeralPorts(control.ephemeral_ports);
  control.use_ktime = StableClock() ? 0 : 1;
}

}  // namespace telltale::agent
