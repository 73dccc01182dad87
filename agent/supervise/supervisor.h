// The agent's first process. It starts the sensor process and the uplink process, joins them by a
// link, passes signals on, and starts again whichever ended unasked: the uplink alone, or both,
// because the uplink's link ends with the sensor. It watches nothing, opens nothing and has one
// thread, so that it can fork at any time. No child outlives it.
//
// A sensor process that hangs (a file system that does not answer, say) is ended and started again
// like one that ended unasked.
//
// The pause before a restart doubles from 0.5 s to 30 s, and begins anew once a process has lived
// for a minute.

#ifndef TELLTALE_AGENT_SUPERVISE_SUPERVISOR_H_
#define TELLTALE_AGENT_SUPERVISE_SUPERVISOR_H_

#include <cstdint>
#include <functional>
#include <string>

#include "agent/supervise/link.h"
#include "config/service_manager.h"

namespace telltale::agent {

// Exit codes of an uplink process: no restart helps, it may not become what it has to be; its link
// to the sensor process ended, so that process is the one to hear about.
inline constexpr int kUplinkCannotStart = 3, kUplinkAlone = 4;

struct SupervisorOptions {
  // The bodies of the children: run after fork, their result is the exit code. The sensor gets the
  // socket to the supervisor, the uplink its link to the sensor.
  std::function<int(OwnedFd)> run_sensor, run_uplink;
  // SIGHUP. False: the new configuration cannot be used and the children hear nothing of it.
  std::function<bool()> reload;
  // Hears that the sensor watches, and that this goes on: not while a sensor process hangs. Not
  // owned; nullptr: there is none.
  config::ServiceManager* manager = nullptr;
  std::string node;  // for the manager's line
  // A sensor process that watched and was not heard of for so long is ended, so that another one
  // begins. Less than a service manager waits, which would end all.
  uint64_t hangs_after_ns = 90'000'000'000;
};

// Runs until SIGTERM or SIGINT, or until a sensor process ends that never watched anything, or an
// uplink with kUplinkCannotStart: what keeps them from starting will keep the next ones. The exit
// code of the agent, that of the last sensor process.
int RunSupervisor(const SupervisorOptions& options);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_SUPERVISOR_H_
