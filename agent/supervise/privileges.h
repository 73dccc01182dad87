// What a process of the agent may do. Called once, by each process for itself, before it has
// threads; BecomeGuard: by a thread for itself.

#ifndef TELLTALE_AGENT_SUPERVISE_PRIVILEGES_H_
#define TELLTALE_AGENT_SUPERVISE_PRIVILEGES_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::agent {

struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
};

// NotFound: no such user.
absl::StatusOr<Account> FindAccount(const std::string& user);

// Puts the agent's session before others for a CPU, where the kernel groups tasks by session
// (autogroup): an overloaded host is what people want to see, and what the sensor takes is bounded
// by its budget, not by the queue. A nice value of its own would do the opposite: within a group of
// its own it gains nothing, and Linux 6.18 made it wait five times as long. In a service's cgroup
// the unit's CPUWeight does it. PermissionDenied without CAP_SYS_NICE.
absl::Status RaisePriority();

// The supervisor's: keeps what the two others start with, as far as it has it, and no more:
// BecomeSensor's capabilities, CAP_SETUID and CAP_SETGID for run_as; sets no_new_privs.
absl::Status BecomeSupervisor();

// The uplink's: becomes `account` if given, gives up every capability for good, sets no_new_privs
// and a seccomp filter that refuses with EPERM what only an intruder would want (running programs,
// tracing, mounting, loading BPF or modules, other namespaces, keys).
absl::Status BecomeUplink(const std::optional<Account>& account);

// The sensor's: keeps CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG as far
// as it has them (CAP_SYS_ADMIN and CAP_SYS_RESOURCE only until `DropLoadingCapabilities`: old
// kernels load programs with them; CAP_SYS_NICE until then, for the guard), sets no_new_privs.
// Never fails for a process without capabilities.
absl::Status BecomeSensor();

// The starvation guard's, a thread of the sensor: keeps CAP_SYS_NICE alone, for this thread.
absl::Status BecomeGuard();

// After the programs are loaded and the guard runs: keeps what reading other processes' maps and
// files needs.
absl::Status DropLoadingCapabilities();

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_PRIVILEGES_H_
