// The text files of an agent's spool directory: the slots of its state and its incarnation
// (grammar: agent/spool/FORMAT.md), checked and made readable.
//
// Pure; any thread. Bytes are untrusted.

#ifndef TELLTALE_COLLECTOR_CLI_SPOOL_STATE_FILE_H_
#define TELLTALE_COLLECTOR_CLI_SPOOL_STATE_FILE_H_

#include <google/protobuf/struct.pb.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace telltale::cli {

// What one says, for people and for programs (64-bit numbers as strings, as protobuf JSON has
// them).
struct SpoolStateFile {
  std::string text;
  google::protobuf::Struct fields;
};

bool IsSpoolState(std::string_view bytes);
bool IsIncarnation(std::string_view bytes);

// DataLoss: what is wrong and where.
absl::StatusOr<SpoolStateFile> ReadSpoolState(std::string_view bytes);
absl::StatusOr<SpoolStateFile> ReadIncarnation(std::string_view bytes);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_SPOOL_STATE_FILE_H_
