// How many requests the host's disks have in flight, by the kernel's own count. Reads /proc and
// /sys; any thread.

#ifndef TELLTALE_AGENT_SENSOR_DISK_REQUESTS_H_
#define TELLTALE_AGENT_SENSOR_DISK_REQUESTS_H_

#include <cstdint>
#include <functional>
#include <istream>
#include <string>

namespace telltale::agent {

// Sum of the ninth figure of each line of /proc/diskstats (Documentation/admin-guide/iostats.rst)
// whose device `has_requests`: partitions repeat their disk's, stacked devices pass their bios on.
int64_t DiskRequestsInFlight(std::istream& diskstats,
                             const std::function<bool(const std::string&)>& has_requests);

// Of this host.
int64_t DiskRequestsInFlight();

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_DISK_REQUESTS_H_
