#include "collector/filter/host/confine.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/filter/host/host_limits.h"

namespace telltale::filter {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "seccomp: this architecture's audit number is not known here"
#endif

constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

// What a computation needs that talks over an open socket.
constexpr long kAllowed[] = {
    SYS_brk,           SYS_mmap,         SYS_munmap,
    SYS_mprotect,      SYS_mremap,       SYS_madvise,
    SYS_read,          SYS_readv,        SYS_pread64,
    SYS_write,         SYS_writev,       SYS_recvfrom,
    SYS_recvmsg,       SYS_sendto,       SYS_sendmsg,
    SYS_ppoll,         SYS_close,        SYS_lseek,
    SYS_fstat,         SYS_newfstatat,   SYS_futex,
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep,
    SYS_nanosleep,     SYS_gettimeofday, SYS_sched_yield,
    SYS_getrandom,     SYS_getpid,       SYS_gettid,
    SYS_getuid,        SYS_geteuid,      SYS_getgid,
    SYS_getegid,       SYS_getrusage,    SYS_getcpu,
    SYS_uname,         SYS_sysinfo,      SYS_exit,
    SYS_exit_group,    SYS_rt_sigaction, SYS_rt_sigprocmask,
    SYS_rt_sigreturn,  SYS_sigaltstack,  SYS_restart_syscall,
    SYS_membarrier,
#ifdef SYS_poll
    SYS_poll,          SYS_time,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
};

int ReadAddressSpaceFile() {
  static const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  return file;
}

// Of one field of what a filter is asked about; the low half of an argument is enough here.
uint32_t Argument(int number) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + sizeof(uint64_t) * number);
}

absl::Status Failed(const char* step) {
  return absl::InternalError(absl::StrCat("filter host: ", step, ": ", strerror(errno)));
}

absl::Status Install(std::vector<sock_filter> program) {
  const sock_fprog all = {.len = static_cast<unsigned short>(program.size()),
                          .filter = program.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0) return Failed("seccomp");
  return absl::OkStatus();
}

void Limit(__rlimit_resource resource, rlim_t limit, const char* name, absl::Status* status) {
  const rlimit both = {.rlim_cur = limit, .rlim_max = limit};
  if (setrlimit(resource, &both) != 0 && status->ok()) *status = Failed(name);
}

// For the handler of signals, which is given nothing else.
uint64_t budget_base = 0, budget_bytes = 0;

void OnCrash(int number) {
  const uint64_t now = AddressSpace();
  const uint64_t used_mib = (now > budget_base ? now - budget_base : 0) >> 20;
  const uint64_t limit_mib = budget_bytes >> 20;
  // By hand: of the C library only what is safe in a handler.
  char line[128];
  size_t length = 0;
  const auto text = [&](const char* of) {
    while (*of != '\0' && length < sizeof line) line[length++] = *of++;
  };
  const auto figure = [&](uint64_t value) {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count > 0 && length < sizeof line) line[length++] = digits[--count];
  };
  text("\n");
  // Allocations fail before the last byte is used.
  text(used_mib >= limit_mib - limit_mib / 8 ? kOutOfMemory : "[");
  text("signal ");
  figure(static_cast<uint64_t>(number));
  text(" with ");
  figure(used_mib);
  text(" of ");
  figure(limit_mib);
  text(" MiB used]");
  if (write(STDERR_FILENO, line, length) < 0) {
  }
  signal(number, SIG_DFL);  // and again, from where it happened
}

}  // namespace

uint64_t AddressSpace() {
  char text[64] = {};
  if (pread(ReadAddressSpaceFile(), text, sizeof text - 1, 0) <= 0) return 0;
  uint64_t pages = 0;
  for (const char* c = text; *c >= '0' && *c <= '9'; ++c) {
    pages = pages * 10 + static_cast<uint64_t>(*c - '0');
  }
  static const uint64_t page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return pages * page_bytes;
}

absl::Status Confine(uint64_t memory_bytes) {
  absl::Status status;
  const uint64_t now = AddressSpace();
  if (now == 0) return Failed("read /proc/self/statm");
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return Failed("parent-death signal");
  Limit(RLIMIT_CORE, 0, "limit of core files", &status);
  Limit(RLIMIT_FSIZE, 0, "limit of file sizes", &status);
  Limit(RLIMIT_AS, now + memory_bytes, "limit of memory", &status);
  if (!status.ok()) return status;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Failed("no new privileges");

  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const long call : kAllowed) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  // A call that is let through if one argument, under a mask, is as given.
  const auto allow_if = [&](long call, int argument, uint32_t mask, uint32_t value) {
    const sock_filter rules[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, Argument(argument)),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, kRefuse),
    };
    program.insert(program.end(), std::begin(rules), std::end(rules));
  };
  allow_if(SYS_openat, 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY);
  allow_if(SYS_tgkill, 0, UINT32_MAX, static_cast<uint32_t>(getpid()));  // abort()
  allow_if(SYS_prctl, 0, UINT32_MAX, PR_SET_SECCOMP);
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kRefuse));
  return Install(std::move(program));
}

absl::Status CloseFiles() {
  return Install({
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kRefuse),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  });
}

void TellOfCrashes(uint64_t memory_bytes) {
  budget_base = AddressSpace();
  budget_bytes = memory_bytes;
  // A stack of its own: one cause is that the other is full.
  static char stack[64 * 1024];
  const stack_t apart = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&apart, nullptr);
  struct sigaction action = {};
  action.sa_handler = OnCrash;
  action.sa_flags = SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    sigaction(number, &action, nullptr);
  }
}

}  // namespace telltale::filter
