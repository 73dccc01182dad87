// The bytes of an agent's spool record or journal (grammar: agent/spool/FORMAT.md), as far as they
// can be read.
//
// Pure; any thread. Bytes are untrusted: lengths are checked before anything is copied.

#ifndef TELLTALE_COLLECTOR_CLI_SPOOL_FILE_H_
#define TELLTALE_COLLECTOR_CLI_SPOOL_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace telltale::cli {

struct SpoolChunk {
  uint8_t type = 0;   // 1 Schema, 2 Names, 3 Summary, 4 sequence and SummaryBody
  size_t offset = 0;  // of the chunk in the file
  std::string_view payload;
};

struct SpoolFile {
  std::vector<SpoolChunk> chunks;  // up to the first damage
  absl::Status damage;             // OK, or DataLoss with the offset and what is wrong there
};

bool IsSpoolFile(std::string_view bytes);

// `bytes` outlives the result.
SpoolFile ReadSpoolFile(std::string_view bytes);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_SPOOL_FILE_H_
