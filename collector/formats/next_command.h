// The command a diagnosis proposes, so that it still shows the same when it is typed later.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_FORMATS_NEXT_COMMAND_H_
#define TELLTALE_COLLECTOR_FORMATS_NEXT_COMMAND_H_

#include <string>

namespace telltale::formats {

// `command` as a filter wrote it, with the node and the time it is about: --node, --from and --to,
// times in UTC. What it names already stays. A while of more than an hour is asked for by its first
// hour: longer answers know no single processes. Not a command of telltale that takes a time:
// unchanged.
std::string CompletedCommand(const std::string& command, const std::string& node, double start_s,
                             double end_s);

}  // namespace telltale::formats

#endif  // TELLTALE_COLLECTOR_FORMATS_NEXT_COMMAND_H_
