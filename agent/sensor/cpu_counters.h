// One performance counter on each CPU that is online, all running the same BPF program. A CPU
// whose counter cannot be had leaves a gap, which is said; no CPU with one is an error. A CPU that
// comes online later is not counted before the next start. Owned by a BpfGroup, its thread only.

#ifndef TELLTALE_AGENT_SENSOR_CPU_COUNTERS_H_
#define TELLTALE_AGENT_SENSOR_CPU_COUNTERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/sensor/perf_events.h"

namespace telltale::agent {

class CpuCounters {
 public:
  CpuCounters() = default;
  ~CpuCounters() { Stop(); }
  CpuCounters(const CpuCounters&) = delete;
  CpuCounters& operator=(const CpuCounters&) = delete;

  // FailedPrecondition: none runs; says why, for people.
  absl::Status Start(PerfEvents& perf, const PerfCounter& counter, int program_fd);
  void Stop();
  // They stay open and count nothing meanwhile.
  void Pause();
  void GoOn();

  // Where none runs, and why: "not counted on CPU 3: it is offline". Empty: all do.
  const std::string& gaps() const { return gaps_; }

 private:
  std::vector<int> fds_;
  std::string gaps_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_CPU_COUNTERS_H_
