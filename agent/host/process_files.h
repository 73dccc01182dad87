// Parsers of what /proc/PID says of one process. The text holds names that the process chose.
// Free functions: any thread.

#ifndef TELLTALE_AGENT_HOST_PROCESS_FILES_H_
#define TELLTALE_AGENT_HOST_PROCESS_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace telltale::agent {

// When the process began, in clock ticks after boot, by /proc/PID/stat.
std::optional<uint64_t> StartTicks(std::string_view stat);

// How many threads it has, by the stat of it or of one of them.
std::optional<uint64_t> ThreadCount(std::string_view stat);

// What its first thread does, by /proc/PID/stat or /proc/PID/task/PID/stat: 'R', 'S', 'D' ...
std::optional<char> TaskState(std::string_view stat);

// The cgroup of /proc/PID/cgroup: that of the memory hierarchy of version 1, which the sensor
// reads, else that of version 2; empty: neither.
std::string CgroupOf(std::string_view cgroup);

struct ProcessStatus {
  uint32_t uid = 0;     // effective
  uint32_t ns_pid = 0;  // pid in the innermost namespace the process is in
};
// Of /proc/PID/status; nullopt: a line is missing.
std::optional<ProcessStatus> ParseProcessStatus(std::string_view status);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_HOST_PROCESS_FILES_H_
