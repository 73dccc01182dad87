// The kernel's performance events, as far as the sensor uses them: counters that run a BPF program
// every `period` events. An interface, because most virtual machines have no hardware counters:
// tests stand in for them. Any thread.

#ifndef TELLTALE_AGENT_SENSOR_PERF_EVENTS_H_
#define TELLTALE_AGENT_SENSOR_PERF_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace telltale::agent {

struct PerfCounter {
  uint32_t type = 0;  // PERF_TYPE_* of linux/perf_event.h
  uint64_t config = 0;
  uint64_t period = 1;  // events from one run of the program to the next
};

class PerfEvents {
 public:
  virtual ~PerfEvents() = default;

  virtual std::vector<int> OnlineCpus() = 0;
  // A counter, not yet running, of all that happens on one CPU: a descriptor that the caller
  // closes, or a negative errno.
  virtual int Open(const PerfCounter& counter, int cpu) = 0;
  // Lets it run, and the program with it until the descriptor is closed. 0 or a negative errno.
  virtual int Run(int fd, int program_fd) = 0;
};

class KernelPerfEvents : public PerfEvents {
 public:
  std::vector<int> OnlineCpus() override;
  int Open(const PerfCounter& counter, int cpu) override;
  int Run(int fd, int program_fd) override;
};

// "0-3,8" as the kernel lists CPUs; what is not such a list adds nothing.
std::vector<int> ParseCpuList(const std::string& text);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_PERF_EVENTS_H_
