#include "agent/sensor/cpu_counters.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace telltale::agent {
namespace {

std::string WhyNoCounter(int error) {
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
      return "no hardware counters on this machine";
    case ENODEV:
      return "it is offline";
    case EPERM:
    case EACCES:
      return "not allowed (needs CAP_PERFMON)";
    case EBUSY:
      return "others use all counters (perf, or the NMI watchdog: kernel.nmi_watchdog=0)";
    case ENFILE:
    case EMFILE: {
      rlimit limit = {};
      getrlimit(RLIMIT_NOFILE, &limit);
      return absl::StrCat("no file descriptor left, one a CPU is needed; the limit is ",
                          limit.rlim_cur, ", raise it (LimitNOFILE, ulimit -n)");
    }
    default:
      return strerror(error);
  }
}

// "CPU 3", "CPUs 1, 2, 3, 4 and 60 more"
std::string NameCpus(const std::vector<int>& cpus) {
  constexpr size_t kNamed = 4;
  const size_t named = std::min(cpus.size(), kNamed);
  std::string text = absl::StrCat(cpus.size() == 1 ? "CPU " : "CPUs ",
                                  absl::StrJoin(cpus.begin(), cpus.begin() + named, ", "));
  if (cpus.size() > named) absl::StrAppend(&text, " and ", cpus.size() - named, " more");
  return text;
}

}  // namespace

absl::Status CpuCounters::Start(PerfEvents& perf, const PerfCounter& counter, int program_fd) {
  std::map<int, std::vector<int>> missing;  // CPUs by errno
  for (const int cpu : perf.OnlineCpus()) {
    const int fd = perf.Open(counter, cpu);
    const int error = fd < 0 ? -fd : -perf.Run(fd, program_fd);
    if (error == 0) {
      fds_.push_back(fd);
      continue;
    }
    if (fd >= 0) close(fd);
    missing[error].push_back(cpu);
  }
  if (fds_.empty()) {
    return absl::FailedPreconditionError(missing.empty() ? "the kernel lists no CPU"
                                                         : WhyNoCounter(missing.begin()->first));
  }
  for (const auto& [error, cpus] : missing) {
    absl::StrAppend(&gaps_, gaps_.empty() ? "not counted on " : "; on ", NameCpus(cpus), ": ",
                    WhyNoCounter(error));
  }
  return absl::OkStatus();
}

void CpuCounters::Stop() {
  for (const int fd : fds_) close(fd);
  fds_.clear();
  gaps_.clear();
}

// A counter that cannot be stopped or started was closed by nobody but the kernel: its CPU is gone.
void CpuCounters::Pause() {
  for (const int fd : fds_) ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

void CpuCounters::GoOn() {
  for (const int fd : fds_) ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

}  // namespace telltale::agent
