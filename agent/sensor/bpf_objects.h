// The kernel programs that are built into the agent (cmake/BpfObject.cmake). Any thread.

#ifndef TELLTALE_AGENT_SENSOR_BPF_OBJECTS_H_
#define TELLTALE_AGENT_SENSOR_BPF_OBJECTS_H_

#include <span>
#include <string_view>

namespace telltale::agent {

// The ELF image of agent/sensor/bpf/NAME.bpf.c; empty if there is none of this name.
std::span<const char> FindBpfObject(std::string_view name);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_BPF_OBJECTS_H_
