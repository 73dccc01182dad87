#include "agent/sensor/replay_world.h"

#include <xxhash.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

constexpr double kMs = 1e6, kKiB = 1024, kMiB = 1024 * 1024;

using Rates = std::array<double, TELLTALE_BUILTIN_VITALS>;

// Rates in the order of the vital ids; blocking is left out, it is the time that remains.
struct Habits {
  double cpu, delay, disk, faults, kernel_pages, syscalls, signals, socket, lock, softirq, reclaim,
      retransmit;
};
constexpr Rates RatesOf(const Habits& h) {
  Rates r{};
  r[TELLTALE_CPU] = h.cpu;
  r[TELLTALE_SCHED_DELAY] = h.delay;
  r[TELLTALE_DISK_IO] = h.disk;
  r[TELLTALE_USER_PAGE] = h.faults;
  r[TELLTALE_KERNEL_PAGE] = h.kernel_pages;
  r[TELLTALE_SYSCALL] = h.syscalls;
  r[TELLTALE_SIGNAL] = h.signals;
  r[TELLTALE_SOCKET] = h.socket;
  r[TELLTALE_LOCK] = h.lock;
  r[TELLTALE_SOFTIRQ] = h.softirq;
  r[TELLTALE_RECLAIM] = h.reclaim;
  r[TELLTALE_RETRANSMIT] = h.retransmit;
  return r;
}

constexpr ReplayProgram kPrograms[] = {
    {"nginx", "/usr/sbin/nginx", "/system.slice/nginx.service", 33, 4, 1, false,
     TELLTALE_BLOCK_POLL, 14,
     RatesOf(
         {90 * kMs, 6 * kMs, 64 * kKiB, 40, 300, 9'000, 2, 3 * kMiB, 0.4 * kMs, 4 * kMs, 0, 0.3})},
    {"postgres", "/usr/lib/postgresql/15/bin/postgres", "/system.slice/postgresql.service", 107, 8,
     1, false, TELLTALE_BLOCK_SOCKET, 16,
     RatesOf(
         {45 * kMs, 3 * kMs, 900 * kKiB, 120, 500, 3'000, 1, 400 * kKiB, 2 * kMs, 1 * kMs, 0, 0})},
    {"python3", "/usr/bin/python3.11", "/kubepods/burstable/pod-app", 1000, 3, 6, false,
     TELLTALE_BLOCK_LOCK, 20,
     RatesOf({140 * kMs, 12 * kMs, 20 * kKiB, 900, 800, 2'500, 4, 200 * kKiB, 9 * kMs, 0, 0, 0})},
    {"cc1plus", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "/user.slice/session-4", 1001, 2, 1,
     true, TELLTALE_BLOCK_DISK, 24,
     RatesOf({620 * kMs, 60 * kMs, 2 * kMiB, 9'000, 9'500, 1'400, 1, 0, 0, 0, 1 * kMs, 0})},
    {"sshd", "/usr/sbin/sshd", "/system.slice/ssh.service", 0, 2, 1, false, TELLTALE_BLOCK_POLL, 4,
     RatesOf({0.5 * kMs, 0.1 * kMs, 0, 2, 6, 40, 0, 2 * kKiB, 0, 0, 0, 0.02})},
    {"systemd-journal", "/usr/lib/systemd/systemd-journald",
     "/system.slice/systemd-journald.service", 0, 1, 1, false, TELLTALE_BLOCK_POLL, 6,
     RatesOf({6 * kMs, 0.5 * kMs, 120 * kKiB, 30, 60, 500, 0, 30 * kKiB, 0.05 * kMs, 0, 0, 0})},
    {"cron", "/usr/sbin/cron", "/system.slice/cron.service", 0, 1, 1, false, TELLTALE_BLOCK_TIMER,
     2, RatesOf({0.05 * kMs, 0.02 * kMs, 0, 0.5, 1, 4, 0.1, 0, 0, 0, 0, 0})},
    {"kworker/0:1", "", "", 0, 2, 1, false, TELLTALE_BLOCK_OTHER, 5,
     RatesOf({8 * kMs, 0.8 * kMs, 1 * kMiB, 0, 120, 0, 0, 0, 0.3 * kMs, 2 * kMs, 0, 0})},
};

constexpr std::string_view kKernelFunctions[kReplayKernelFunctions] = {
    "__schedule",         "schedule_timeout",   "io_schedule",           "ep_poll",
    "do_syscall_64",      "vfs_read",           "ext4_file_read_iter",   "blk_mq_submit_bio",
    "tcp_sendmsg_locked", "tcp_recvmsg_locked", "__alloc_pages",         "handle_mm_fault",
    "futex_wait_queue",   "shrink_node",        "__mutex_lock_slowpath", "ret_from_fork"};

constexpr std::string_view kVerbs[] = {"parse", "read",   "write", "find",  "update",
                                       "flush", "hash",   "merge", "check", "encode",
                                       "visit", "lookup", "build", "wait"};
constexpr std::string_view kNouns[] = {"request", "row",   "buffer", "token", "page",
                                       "tree",    "index", "cache",  "queue", "socket",
                                       "state",   "frame", "record"};

constexpr uint64_t kExeBase = 0x5500'0000'0000, kLibraryBase = 0x7f00'0000'0000;
constexpr uint64_t kKernelBase = 0xffff'ffff'8100'0000;
constexpr uint32_t kImageBits = 24;  // 16 MiB an image
constexpr uint32_t kFunctionBytes = 0x100, kKernelFunctionBytes = 0x400;

std::shared_ptr<const CodeFile> MakeFile(v1::MappingKind kind, std::string_view path) {
  const XXH128_hash_t hash = XXH3_128bits(path.data(), path.size());
  auto file = std::make_shared<CodeFile>();
  file->kind = kind;
  file->path = path;
  file->build_id.assign(20, '\x11');
  std::memcpy(file->build_id.data(), &hash, sizeof hash);
  return file;
}

// Program of an executable's id; -1 if there is none.
int ProgramOf(const ExeId& exe) {
  for (size_t i = 0; i < std::size(kPrograms); ++i) {
    if (!kPrograms[i].path.empty() && exe == ReplayExe(i)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

std::span<const ReplayProgram> ReplayPrograms() { return kPrograms; }

uint64_t ReplayUserAddress(uint32_t tgid, bool library, uint32_t offset) {
  return (library ? kLibraryBase : kExeBase) + (uint64_t{tgid & 0xffff} << kImageBits) +
         (offset & ((1u << kImageBits) - 1));
}

uint64_t ReplayKernelAddress(uint32_t function, uint32_t offset) {
  return kKernelBase + uint64_t{function % kReplayKernelFunctions} * kKernelFunctionBytes +
         offset % kKernelFunctionBytes;
}

ExeId ReplayExe(size_t program) {
  if (kPrograms[program].path.empty()) return {};
  return {.device = 8u << 20 | 1, .inode = 1000 + program, .generation = 1};
}

uint64_t ReplayCgroup(size_t program) { return 100 + program; }

ReplayResolver::ReplayResolver()
    : kernel_(MakeFile(v1::MAPPING_KIND_KERNEL, "[kernel]")),
      library_(MakeFile(v1::MAPPING_KIND_FILE, "/usr/lib/x86_64-linux-gnu/libc.so.6")) {
  for (const ReplayProgram& program : kPrograms) {
    programs_.push_back(MakeFile(v1::MAPPING_KIND_FILE, program.path));
  }
}

std::string ReplayResolver::ExePath(const ProcessRef& process) {
  const int program = ProgramOf(process.exe);
  return program < 0 ? "" : std::string(kPrograms[program].path);
}

std::string ReplayResolver::CgroupPath(const ProcessRef& process) {
  const uint64_t program = process.cgroup_id - ReplayCgroup(0);
  return program < std::size(kPrograms) ? std::string(kPrograms[program].cgroup) : "";
}

CodeLocation ReplayResolver::User(const ProcessRef& process, uint64_t address, uint64_t) {
  const int program = ProgramOf(process.exe);
  const uint64_t offset = address & ((1u << kImageBits) - 1);
  if (program < 0) return {nullptr, address};
  if (address >> 40 == kLibraryBase >> 40) return {library_, offset};
  if (address >> 40 == kExeBase >> 40) return {programs_[program], offset};
  return {nullptr, address};
}

CodeLocation ReplayResolver::Kernel(uint64_t address) {
  if (address < kKernelBase) return {};
  return {kernel_, address - kKernelBase};
}

FunctionName ReplayResolver::Name(const ProcessRef&, const CodeLocation& location) {
  if (!location.file) return {v1::NAME_OUTCOME_GONE, ""};
  if (location.file->kind == v1::MAPPING_KIND_KERNEL) {
    return {v1::NAME_OUTCOME_NAMED,
            std::string(
                kKernelFunctions[location.offset / kKernelFunctionBytes % kReplayKernelFunctions])};
  }
  const uint64_t function = location.offset / kFunctionBytes;
  const uint64_t hash = XXH3_64bits_withSeed(location.file->build_id.data(),
                                             location.file->build_id.size(), function);
  return {v1::NAME_OUTCOME_NAMED,
          absl::StrCat(std::string(kVerbs[hash % std::size(kVerbs)]), "_",
                       std::string(kNouns[hash / 64 % std::size(kNouns)]), "_", hash % 97)};
}

void ReplayResolver::OnExec(const RawEvent&) {}

}  // namespace telltale::agent
