// The process that watches the kernel and writes the spool, and the parent of the uplink process.
// Its main thread waits for signals, the link, the disk thread's news and people who ask for the
// status; the sensor and the disk have threads of their own. If one process ends the other does.

#ifndef TELLTALE_AGENT_SUPERVISE_SENSOR_PROCESS_H_
#define TELLTALE_AGENT_SUPERVISE_SENSOR_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "agent/config.h"
#include "agent/spool/spool.h"
#include "agent/supervise/link.h"

namespace telltale::agent {

struct SensorProcessOptions {
  Config config;
  std::string node;
  pid_t uplink_pid = 0;
  std::string config_file;
  std::function<void()> reload;  // SIGHUP
};

// Runs until SIGTERM, SIGINT or a failure; the exit code of the agent: 0 only after a planned stop.
int RunSensorProcess(const SensorProcessOptions& options, std::unique_ptr<Spool> spool,
                     FileSystem& files, OwnedFd link);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_SENSOR_PROCESS_H_
