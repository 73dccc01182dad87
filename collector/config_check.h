// What --check-config finds: whatever would keep a collector from starting with this configuration,
// or a part of it from working, without starting anything and without touching the data. Any
// thread.

#ifndef TELLTALE_COLLECTOR_CONFIG_CHECK_H_
#define TELLTALE_COLLECTOR_CONFIG_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collector/config.h"

namespace telltale::collector {

// Each fault names option or file, value and remedy; none: it may start. Certificates are judged at
// `now`.
std::vector<absl::Status> ConfigFaults(const Config& config, absl::Time now);

// What keeps nothing from working but wants to be looked at: a revocation list that is outdated.
std::vector<std::string> ConfigWarnings(const Config& config, absl::Time now);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_CONFIG_CHECK_H_
