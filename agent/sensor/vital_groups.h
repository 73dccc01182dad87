// Which group of kernel programs watches which vitals, and the rungs to try (sensor facts, sections
// 5 and 6). Constant data.

#ifndef TELLTALE_AGENT_SENSOR_VITAL_GROUPS_H_
#define TELLTALE_AGENT_SENSOR_VITAL_GROUPS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sensor/bpf_group.h"

namespace telltale::agent {

struct VitalGroup {
  std::string object;           // agent/sensor/bpf/OBJECT.bpf.c; local_NAME: a site's NAME.bpf.c
  std::vector<uint8_t> vitals;  // may be empty: a helper of the others
  std::vector<Rung> rungs;
};

// The group of the agent's own programs, without which nothing works.
VitalGroup CutGroup();
// All others, in the order to start them; the site's own come last.
std::vector<VitalGroup> VitalGroups();

// Where the programs of a rung of "sched" take the stacks of waits.
uint32_t ExitHookOf(const Rung& rung);  // enum telltale_exit_hook

// The vital that lacks an event when the kernel refuses to run this program of a group that watches
// `vitals`; 0: none, it only helps the others.
uint8_t VitalOfProgram(const std::vector<uint8_t>& vitals, std::string_view program);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_VITAL_GROUPS_H_
