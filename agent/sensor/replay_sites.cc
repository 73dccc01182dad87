#include "agent/sensor/replay_sites.h"

namespace telltale::agent {
namespace {

uint64_t SiteIp(const ReplayProgram& program, uint32_t tgid, uint8_t vital, uint32_t site,
                uint8_t sub) {
  const auto where = static_cast<uint32_t>(ReplayMix(site * 131 + vital));
  const bool kernel = program.path.empty() || (vital == TELLTALE_CPU && sub != TELLTALE_CPU_USER);
  return kernel ? ReplayKernelAddress(where, 0x40)
                : ReplayUserAddress(tgid, vital == TELLTALE_SYSCALL, 0x1000 + where % 0x40000);
}

}  // namespace

uint64_t ReplayMix(uint64_t x) {  // SplitMix64's finisher
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

double ReplayEventWeight(uint8_t vital) {
  switch (vital) {
    case TELLTALE_CPU:
      return 4e6;  // a tick
    case TELLTALE_SCHED_DELAY:
      return 250e3;
    case TELLTALE_BLOCKING:
      return 8e6;
    case TELLTALE_DISK_IO:
      return 16 * 1024;
    case TELLTALE_SOCKET:
      return 1400;
    case TELLTALE_LOCK:
      return 60e3;
    case TELLTALE_SOFTIRQ:
      return 100e3;
    case TELLTALE_RECLAIM:
      return 500e3;
    default:
      return 1;
  }
}

bool IsTaskTime(uint8_t vital) {
  return vital == TELLTALE_CPU || vital == TELLTALE_SCHED_DELAY || vital == TELLTALE_BLOCKING;
}

bool IsPaired(uint8_t vital) {
  return vital == TELLTALE_DISK_IO || vital == TELLTALE_SIGNAL || vital == TELLTALE_KERNEL_PAGE;
}

uint8_t ReplaySubOf(uint8_t vital, const ReplayProgram& program, uint32_t site, uint64_t salt) {
  switch (vital) {
    case TELLTALE_CPU:
      if (program.path.empty() || site % 3 == 2) return TELLTALE_CPU_KERNEL;
      return TELLTALE_CPU_USER;
    case TELLTALE_SCHED_DELAY:
      return site % 2;
    case TELLTALE_BLOCKING:
      if (site % 4 == 3) return TELLTALE_BLOCK_DISK;
      return program.wait;
    case TELLTALE_DISK_IO:
      if (site % 3 == 0) return TELLTALE_DISK_READ_ISSUED;
      return TELLTALE_DISK_WRITE_ISSUED;
    case TELLTALE_USER_PAGE:
      return salt % 64 == 0 ? TELLTALE_FAULT_MAJOR : TELLTALE_FAULT_MINOR;
    case TELLTALE_SYSCALL:
      return site % 5 == 4 ? TELLTALE_SYSCALL_FAILED : TELLTALE_SYSCALL_OK;
    case TELLTALE_SOCKET:
      return site % 2;
    case TELLTALE_LOCK:
      return site % TELLTALE_LOCK_SUBS;
    case TELLTALE_SOFTIRQ:
      return site % 2 == 0 ? TELLTALE_SOFTIRQ_NET_RX : TELLTALE_SOFTIRQ_TIMER;
    default:
      return 0;
  }
}

uint64_t ReplayFieldValue(const sketch::Field& field, const RawProcess& p,
                          const ReplayProgram& program, uint8_t vital, uint8_t sub, uint32_t site,
                          uint64_t weight) {
  using K = sketch::FieldKind;
  const uint64_t ip = SiteIp(program, p.tgid, vital, site, sub);
  switch (field.kind) {
    case K::kIp:
      return ip;
    case K::kHex:
      return field.name == "ip_block" ? ip >> (vital == TELLTALE_USER_PAGE ? 4 : 8)
                                      : ReplayMix(site);
    case K::kStackPointer:
      return (0x7ffc'0000'0000 + uint64_t{p.tgid} * 0x10000 + site * 0x200) >> 8;
    case K::kPid:
      return p.tgid;
    case K::kSyscall:
      return program.path.empty() ? ~uint64_t{0} : ReplayMix(site) % 300;
    case K::kDevice:
      return 8u << 20;
    case K::kGfp:
      return 0xcc0;
    case K::kSignal:
      return 15;
    case K::kProtocol:
      return 6;
    case K::kPort:
      return field.name == "remote_port" ? 30'000 + site : 443;
    case K::kBytes:
    case K::kNanoseconds:
      return weight;
    case K::kEnum:
      if (field.name == "op") return sub / 2;
      if (field.name == "mode" || field.name == "kind") return sub;
      return 0;
    case K::kPriority:
      return 120;
    case K::kAddress:
      return field.name == "local_address" ? 1 : 2;
    case K::kSector:
      return ReplayMix(site) % 1'000'000;
    case K::kNumber:
      return ReplayMix(site) % 1'000;
    default:
      return 0;
  }
}

}  // namespace telltale::agent
