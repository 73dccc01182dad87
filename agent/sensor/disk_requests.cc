#include "agent/sensor/disk_requests.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace telltale::agent {

int64_t DiskRequestsInFlight(std::istream& diskstats,
                             const std::function<bool(const std::string&)>& has_requests) {
  int64_t sum = 0;
  std::string line;
  while (std::getline(diskstats, line)) {
    std::istringstream fields(line);
    std::string name;
    uint64_t number = 0;
    fields >> number >> number >> name;
    for (int i = 0; i < 8; ++i) fields >> number;
    int64_t in_flight = 0;
    if (fields >> in_flight && in_flight > 0 && has_requests(name)) sum += in_flight;
  }
  return sum;
}

int64_t DiskRequestsInFlight() {
  std::ifstream diskstats("/proc/diskstats");
  return DiskRequestsInFlight(diskstats, [](const std::string& name) {
    return access(("/sys/block/" + name + "/mq").c_str(), F_OK) == 0;
  });
}

}  // namespace telltale::agent
