// Finds out why a connection failed, which gRPC does not tell: no such host, nothing listens, the
// server is not ours, or the server refuses us.

#ifndef TELLTALE_COLLECTOR_CLI_PROBE_H_
#define TELLTALE_COLLECTOR_CLI_PROBE_H_

#include <chrono>

#include "absl/status/status.h"
#include "collector/cli/settings.h"

namespace telltale::cli {

// Connects and shakes hands with OpenSSL. OK: nothing wrong was found. Unavailable: name, network
// or port; FailedPrecondition: the server's certificate; Unauthenticated: ours was refused. One
// line with the remedy.
absl::Status ProbeCollector(const Settings& settings, std::chrono::seconds timeout);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_PROBE_H_
