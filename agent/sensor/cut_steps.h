// The steps of a cut that need the kernel: the barrier after the flip, the flush of each CPU, and
// the passes over all tasks (bpf/cut.bpf.c). Owned by the sensor, its thread only.

#ifndef TELLTALE_AGENT_SENSOR_CUT_STEPS_H_
#define TELLTALE_AGENT_SENSOR_CUT_STEPS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "agent/owned_fd.h"
#include "agent/sensor/bpf_group.h"
#include "agent/sensor/process_table.h"
#include "sketch/layout.h"

namespace telltale::agent {

class CutSteps {
 public:
  // Loads the programs and makes the maps that all groups share. FailedPrecondition: this host does
  // not let us.
  absl::Status Load(SharedMaps& maps);

  // Starts the timer that moves control.second on. An error: the kernel cannot, the agent must.
  absl::Status StartBeat();

  // Returns when no program that saw the old index is running any more.
  absl::Status Barrier();
  // Gives each CPU's running task what it did in the old half.
  absl::Status FlushCpus(uint32_t possible_cpus);
  // Runs the task iterator; rows are added to `table` if there is one.
  absl::Status Pass(telltale_pass pass, telltale_control& control, ProcessTable* table);

 private:
  std::unique_ptr<BpfGroup> programs_;
  OwnedFd iterator_;  // each pass is made of it
  OwnedFd barrier_outer_, barrier_inner_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_CUT_STEPS_H_
