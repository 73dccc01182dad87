// The status of an agent as JSON, and that JSON as a page for people. Pure functions.

#ifndef TELLTALE_AGENT_SUPERVISE_STATUS_TEXT_H_
#define TELLTALE_AGENT_SUPERVISE_STATUS_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/loop/sensor_loop.h"
#include "agent/sensor/sensor.h"
#include "agent/spool/disk_writer.h"
#include "agent/supervise/starvation_guard.h"
#include "agent/supervise/uplink_port.h"

namespace telltale::agent {

struct AgentStatus {
  std::string version, node, collector, sensor, scope, config_file;
  uint64_t uptime_s = 0;
  uint64_t mono_ns = 0;  // CLOCK_MONOTONIC when it was asked
  uint32_t epoch_s = 0;
  std::string incarnation;  // 16 bytes
  std::vector<VitalStatus> vitals;
  DiskWriter::Stats spool;
  SensorLoop::Stats loop;
  UplinkPort::Status uplink;
  StarvationGuard::Stats starvation;
};

std::string StatusJson(const AgentStatus& status);

// InvalidArgument: no status of an agent.
absl::StatusOr<std::string> StatusPage(const std::string& json);

// What `telltale-agent check` tells.
struct CheckedSensor {
  std::vector<VitalStatus> vitals;
  std::vector<SourceStatus> sources;
  std::string user_stacks;  // how they are taken
  std::string scope;        // a cgroup; empty: the host
};

std::string CheckJson(const CheckedSensor& checked);
std::string CheckPage(const CheckedSensor& checked);

// "files of processes that have ended: unavailable: why".
std::string SourceText(const SourceStatus& source);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_STATUS_TEXT_H_
