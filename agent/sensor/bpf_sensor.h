// The real sensor: watches this host's kernel by eBPF programs on tracepoints (agent/sensor/bpf).
//
// Two halves of counters alternate. Cut() first charges intervals that are still open (task
// iterator), flips the index, and then updates a one-slot map of maps: when that returns, no
// program still holds the old half (the kernel waits for all that run, kernel/bpf/syscall.c,
// maybe_wait_bpf_programs). Then each CPU's running task is given its part, the rows of all tasks
// are collected, the ring is drained, and the old half is read and cleared. Nothing is lost at the
// flip. Where a step after the flip fails the epoch is given up: its half is closed, counted as
// lost and cleared at a later drain or cut, always before the next flip.
//
// Owned by the agent's sensor thread, the only one that may call it. Needs CAP_BPF and CAP_PERFMON.

#ifndef TELLTALE_AGENT_SENSOR_BPF_SENSOR_H_
#define TELLTALE_AGENT_SENSOR_BPF_SENSOR_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "agent/governor/governor.h"
#include "agent/sensor/control_words.h"
#include "agent/sensor/perf_events.h"
#include "agent/sensor/sensor.h"
#include "agent/sensor/user_unwinder.h"

namespace telltale::agent {

struct BpfSensorOptions {
  SampleBudget budget;
  // Only tasks of this cgroup and of those below it are counted ("/system.slice/x.service"); empty:
  // all of the host.
  std::string cgroup;
  // How it is kept to its share of the host's CPU time; `cpus` is filled in.
  GovernorOptions governor;
  // CPU ns that all processes of the agent have used. Unset: this process alone is reckoned.
  std::function<uint64_t()> agent_cpu_ns;
  // Seed of the label hash of an epoch (design: H(deployment key, epoch number)). Unset: random.
  std::function<uint64_t(uint64_t number)> seed;
  size_t max_processes = 4096;  // rows; the rest goes to `other`
  // Makes user stacks of what samples copy. Null: nothing is copied, the kernel walks frame
  // pointers.
  std::shared_ptr<UserUnwinder> unwinder;
  // Null: the kernel's own.
  std::shared_ptr<PerfEvents> perf_events;
};

class BpfSensor : public Sensor {
 public:
  explicit BpfSensor(BpfSensorOptions options);
  ~BpfSensor() override;

  absl::Status Start() override;
  std::vector<VitalStatus> Status() const override;
  std::vector<SourceStatus> Sources() const override;
  absl::StatusOr<uint64_t> Drain(SampleSink& sink) override;
  SensorRest Rest() override;
  absl::StatusOr<RawEpoch> Cut(SampleSink& sink) override;
  absl::StatusOr<RawEpoch> Peek() override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_BPF_SENSOR_H_
