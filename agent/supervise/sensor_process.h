// The process that watches the kernel and writes the spool. Its main thread waits for signals, the
// supervisor, the uplink, the disk thread's news and people who ask for the status; the sensor and
// the disk have threads of their own. It goes on watching and spooling while no uplink is there.

#ifndef TELLTALE_AGENT_SUPERVISE_SENSOR_PROCESS_H_
#define TELLTALE_AGENT_SUPERVISE_SENSOR_PROCESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "agent/config.h"
#include "agent/supervise/link.h"

namespace telltale::agent {

struct SensorProcessOptions {
  Config config;
  std::string node;
  std::string config_file;
  std::function<absl::StatusOr<Config>()> reload;  // the configuration as it stands now; SIGHUP
  uint64_t alive_every_ns = 10'000'000'000;        // how often the supervisor hears that it lives
};

// Runs until SIGTERM, SIGINT or a failure; the exit code of the process: 0 only after a planned
// stop. `supervisor` is the socket to the process that started this one (supervisor.h).
int RunSensorProcess(const SensorProcessOptions& options, OwnedFd supervisor);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_SENSOR_PROCESS_H_
