// The process that talks to the network: no capability, a seccomp filter, reads the spool
// directory, owns gRPC. Told by the sensor process over the link what there is to send; tells it
// what became of each. Ends when the link ends or after the goodbye of a planned stop.

#ifndef TELLTALE_AGENT_SUPERVISE_UPLINK_PROCESS_H_
#define TELLTALE_AGENT_SUPERVISE_UPLINK_PROCESS_H_

#include <optional>
#include <string>

#include "agent/config.h"
#include "agent/supervise/link.h"
#include "agent/supervise/privileges.h"

namespace telltale::agent {

struct UplinkProcessOptions {
  Config config;
  std::string node;
  std::optional<Account> account;  // of run_as
};

// Runs until the end; the exit code of the process.
int RunUplinkProcess(const UplinkProcessOptions& options, OwnedFd link);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_UPLINK_PROCESS_H_
