// The one cgroup whose tasks a sensor counts (sensor.scope: cgroup:/PATH), with those below it. The
// kernel's programs know it by its id, so it is looked for by its path at the start, and again each
// second: a service that is started anew has a new cgroup at the old path.
//
// Paths are those of the hierarchy that the sensor names cgroups by: the memory controller's of
// version 1 where there is one, else that of version 2. Owned by the sensor, its thread only.

#ifndef TELLTALE_AGENT_SENSOR_CGROUP_SCOPE_H_
#define TELLTALE_AGENT_SENSOR_CGROUP_SCOPE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/sensor/sensor.h"
#include "sketch/layout.h"

namespace telltale::agent {

// Where the hierarchy is mounted, by the text of /proc/self/mountinfo. NotFound: nowhere.
absl::StatusOr<std::string> CgroupMount(std::string_view mountinfo, bool unified);

// The kernel's id of the cgroup that a directory stands for. NotFound: there is none, or it is no
// cgroup.
absl::StatusOr<uint64_t> CgroupIdOf(const std::string& directory);

class CgroupScope {
 public:
  // "/system.slice/nginx.service"
  explicit CgroupScope(std::string path) : path_(std::move(path)) {}

  // Sets the control words, which know the hierarchy already. NotFound says where it was looked for
  // and what to do.
  absl::Status Begin(telltale_control& control);
  // Once a second at most: follows the path.
  void Look(uint64_t mono_ns, telltale_control& control);

  // Why the vital of that object (agent/sensor/bpf) has nothing to count in a cgroup, for people;
  // empty: it has.
  std::string WhyNothing(std::string_view object) const;
  // The scope's part in a vital's state: degrades it while the cgroup is not there.
  void AddTo(std::vector<VitalStatus>& status) const;

 private:
  std::string Problem() const;

  const std::string path_;
  std::string directory_;
  uint64_t looked_ns_ = 0;
  bool gone_ = false;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_CGROUP_SCOPE_H_
