// What the kernel counts by itself of the events that cost most and cannot be watched part of the
// time: context switches and tasks begun. Tells how busy a host is that is not watched.
//
// Free functions; any thread.

#ifndef TELLTALE_AGENT_SENSOR_HOST_COUNTS_H_
#define TELLTALE_AGENT_SENSOR_HOST_COUNTS_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace telltale::agent {

struct HostCounts {
  uint64_t switches = 0, tasks = 0;  // since boot
};

// Of the text of /proc/stat; nullopt where it does not have both.
std::optional<HostCounts> ParseHostCounts(std::string_view text);
std::optional<HostCounts> ReadHostCounts();

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_HOST_COUNTS_H_
