// Performance events that need no hardware: each counter is a harmless descriptor, or another event
// that this kernel has, and any of them can be made to fail. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_FAKE_PERF_EVENTS_H_
#define TELLTALE_TESTS_SUPPORT_FAKE_PERF_EVENTS_H_

#include <fcntl.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "agent/sensor/perf_events.h"

namespace telltale::agent {

class FakePerfEvents : public PerfEvents {
 public:
  std::vector<int> cpus = {0};
  std::map<int, int> open_errors, run_errors;  // errno by CPU
  std::optional<PerfCounter> stand_in;         // the kernel's, instead of what is asked for

  struct Asked {
    PerfCounter counter;
    int cpu, fd;
  };
  std::vector<Asked> opened;
  std::vector<std::pair<int, int>> ran;  // descriptor, program

  std::vector<int> OnlineCpus() override { return cpus; }
  int Open(const PerfCounter& counter, int cpu) override {
    if (open_errors.contains(cpu)) return -open_errors[cpu];
    const int fd =
        stand_in ? kernel_.Open(*stand_in, cpu) : open("/dev/null", O_RDONLY | O_CLOEXEC);
    opened.push_back({counter, cpu, fd});
    return fd;
  }
  int Run(int fd, int program_fd) override {
    if (const int cpu = opened.back().cpu; run_errors.contains(cpu)) return -run_errors[cpu];
    ran.emplace_back(fd, program_fd);
    return stand_in ? kernel_.Run(fd, program_fd) : 0;
  }

 private:
  KernelPerfEvents kernel_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_TESTS_SUPPORT_FAKE_PERF_EVENTS_H_
