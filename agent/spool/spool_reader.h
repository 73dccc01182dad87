// Reads a spool directory that another process writes. No state; any thread.

#ifndef TELLTALE_AGENT_SPOOL_SPOOL_READER_H_
#define TELLTALE_AGENT_SPOOL_SPOOL_READER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "agent/spool/record.h"

namespace telltale::agent {

// NotFound: settled or dropped meanwhile. DataLoss: damaged. Unavailable: could not be read now.
absl::StatusOr<Record> ReadRecord(const std::string& directory, uint64_t sequence);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SPOOL_SPOOL_READER_H_
