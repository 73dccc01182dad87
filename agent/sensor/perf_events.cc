#include "agent/sensor/perf_events.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace telltale::agent {
namespace {

constexpr int kMaxCpu = 8192;  // more than any kernel of today has (NR_CPUS)

}  // namespace

std::vector<int> ParseCpuList(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    int first = 0, last = 0;
    const int numbers = sscanf(part.c_str(), "%d-%d", &first, &last);
    if (numbers < 1 || first < 0) continue;
    if (numbers == 1) last = first;
    for (int cpu = first; cpu <= last && cpu < kMaxCpu; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> KernelPerfEvents::OnlineCpus() {
  std::ifstream file("/sys/devices/system/cpu/online");
  std::string line;
  std::getline(file, line);
  return ParseCpuList(line);
}

int KernelPerfEvents::Open(const PerfCounter& counter, int cpu) {
  perf_event_attr attr = {};
  attr.type = counter.type;
  attr.size = sizeof(attr);
  attr.config = counter.config;
  attr.sample_period = counter.period;
  attr.disabled = 1;
  const long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

int KernelPerfEvents::Run(int fd, int program_fd) {
  if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) != 0) return -errno;
  return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0 ? -errno : 0;
}

}  // namespace telltale::agent
