#include "agent/supervise/privileges.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "name this architecture's AUDIT_ARCH_ here"
#endif

constexpr long kRefused[] = {SYS_execve,
                             SYS_execveat,
                             SYS_ptrace,
                             SYS_process_vm_readv,
                             SYS_process_vm_writev,
                             SYS_bpf,
                             SYS_perf_event_open,
                             SYS_mount,
                             SYS_umount2,
                             SYS_pivot_root,
                             SYS_chroot,
                             SYS_setns,
                             SYS_unshare,
                             SYS_init_module,
                             SYS_finit_module,
                             SYS_delete_module,
                             SYS_kexec_load,
                             SYS_reboot,
                             SYS_swapon,
                             SYS_swapoff,
                             SYS_add_key,
                             SYS_request_key,
                             SYS_keyctl,
                             SYS_open_by_handle_at,
                             SYS_userfaultfd,
                             SYS_settimeofday,
                             SYS_clock_settime,
                             SYS_acct,
                             SYS_quotactl,
                             SYS_personality,
                             SYS_open_tree,
                             SYS_move_mount,
                             SYS_fsopen,
                             SYS_fsconfig,
                             SYS_fsmount,
                             SYS_fspick,
                             SYS_mount_setattr,
                             SYS_kexec_file_load,
                             SYS_io_uring_setup,
                             SYS_pidfd_getfd};

// Threads may be made, namespaces not: in a user namespace of its own a process has all
// capabilities again.
constexpr uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

absl::Status Failed(const char* step) {
  return absl::PermissionDeniedError(absl::StrCat("agent: ", step, ": ", std::strerror(errno)));
}

struct Capabilities {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};

  bool Get() { return syscall(SYS_capget, &header, data) == 0; }
  bool Set() { return syscall(SYS_capset, &header, data) == 0; }

  // Keeps only these, as far as they are permitted now.
  void Limit(std::initializer_list<int> kept) {
    uint32_t mask[2] = {};
    for (const int capability : kept) mask[capability / 32] |= 1u << (capability % 32);
    for (int word = 0; word < 2; ++word) {
      data[word].permitted &= mask[word];
      data[word].effective = data[word].permitted;
      data[word].inheritable = 0;
    }
  }
};

absl::Status LimitCapabilities(std::initializer_list<int> kept) {
  Capabilities capabilities;
  if (!capabilities.Get()) return Failed("read capabilities");
  capabilities.Limit(kept);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (!capabilities.Set()) return Failed("give up capabilities");
  return absl::OkStatus();
}

absl::Status SetSeccompFilter() {
  std::vector<sock_filter> program;
  const auto refuse = static_cast<uint32_t>(SECCOMP_RET_ERRNO | EPERM);
  // Another architecture's system calls (32 bit) would pass by other numbers: refuse them all.
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, refuse));
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
#ifdef __x86_64__
  // So would those of x32, which have the architecture's name and numbers of their own.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, __X32_SYSCALL_BIT, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, refuse));
#endif
  for (const long number : kRefused) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, refuse));
  }
  // Its flags are in memory, where no filter looks; where it is not there, clone is asked.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, static_cast<uint32_t>(SECCOMP_RET_ERRNO | ENOSYS)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNamespaces, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, refuse));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return Failed("set seccomp filter");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Account> FindAccount(const std::string& user) {
  errno = 0;
  const passwd* entry = getpwnam(user.c_str());
  if (entry == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("agent: run_as ", user, ": no such user; create it or correct run_as"));
  }
  return Account{entry->pw_uid, entry->pw_gid};
}

absl::Status RaisePriority() {
  // Of another's session the other programs would come along.
  if (getsid(0) != getpid()) return absl::OkStatus();
  const int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return absl::OkStatus();  // this kernel groups nothing by session
  const bool raised = write(fd, "-10", 3) == 3;
  const absl::Status status = raised ? absl::OkStatus() : Failed("raise its session's priority");
  close(fd);
  return status;
}

absl::Status BecomeUplink(const std::optional<Account>& account) {
  if (account && account->uid != geteuid()) {
    if (setgroups(0, nullptr) != 0 || setresgid(account->gid, account->gid, account->gid) != 0 ||
        setresuid(account->uid, account->uid, account->uid) != 0) {
      return Failed("become run_as");
    }
  }
  if (absl::Status status = LimitCapabilities({}); !status.ok()) return status;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Failed("set no_new_privs");
  return SetSeccompFilter();
}

absl::Status BecomeSupervisor() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Failed("set no_new_privs");
  return LimitCapabilities({CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG,
                            CAP_SYS_RESOURCE, CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_KILL, CAP_SETUID,
                            CAP_SETGID});
}

absl::Status BecomeSensor() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Failed("set no_new_privs");
  return LimitCapabilities({CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG,
                            CAP_SYS_RESOURCE, CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_KILL});
}

absl::Status BecomeGuard() { return LimitCapabilities({CAP_SYS_NICE}); }

absl::Status DropLoadingCapabilities() {
  return LimitCapabilities(
      {CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_KILL});
}

}  // namespace telltale::agent
