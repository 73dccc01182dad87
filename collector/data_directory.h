// What the collector puts into its data directory besides the store. Called by collector.cc alone.

#ifndef TELLTALE_COLLECTOR_DATA_DIRECTORY_H_
#define TELLTALE_COLLECTOR_DATA_DIRECTORY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace telltale::collector {

absl::Status MakeDataDirectory(const std::string& data);

// Replaces the file `ports` at once, for programs that start us with port 0. An enroll_port of 0:
// there is none.
absl::Status WritePorts(const std::string& data, uint16_t grpc_port, uint16_t https_port,
                        uint16_t enroll_port);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_DATA_DIRECTORY_H_
