// The commands for somebody who is told that something was odd.
//
// Constant; any thread.

#ifndef TELLTALE_COLLECTOR_CLI_INCIDENT_TABLE_H_
#define TELLTALE_COLLECTOR_CLI_INCIDENT_TABLE_H_

#include <span>

#include "collector/cli/command_options.h"

namespace telltale::cli {

std::span<const Command> IncidentCommands();

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_INCIDENT_TABLE_H_
