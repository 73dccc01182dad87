// Looks at what tasks wait for, where switches are only counted: when, and what of it the kernel's
// pass does (bpf/look.bpf.h). More tasks are looked at less often, so that it stays a small part of
// the budget. Owned by the budget keeper, its thread only.

#ifndef TELLTALE_AGENT_SENSOR_WAIT_LOOKS_H_
#define TELLTALE_AGENT_SENSOR_WAIT_LOOKS_H_

#include <cstdint>
#include <random>

#include "absl/status/status.h"
#include "agent/sensor/cost_pace.h"
#include "agent/sensor/cut_steps.h"
#include "sketch/layout.h"

namespace telltale::agent {

class WaitLooks {
 public:
  // `budget`: CPU seconds a second of the whole agent; 0: none. All outlive this.
  WaitLooks(CutSteps* steps, telltale_control* control, double budget);

  // Gives each task what it waited since the last look. The first after a Follow only begins.
  absl::Status Look();
  // The same before a flip: who waits and leads its cell of the sketch is kept whole.
  absl::Status LookAtCut();
  // If it is time for one.
  absl::Status LookIfDue(uint64_t mono_ns);
  // Switches are followed again: what each has waited is charged, and waits begin anew.
  absl::Status Follow();

 private:
  absl::Status Pass(telltale_pass pass);

  CutSteps* const steps_;
  telltale_control* const control_;
  CostPace pace_;
  uint64_t due_ns_ = 0;
  std::minstd_rand random_;  // no load may keep step with the looks
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_WAIT_LOOKS_H_
