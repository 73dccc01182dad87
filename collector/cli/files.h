// Files as the command line needs them: read with a bound, write so that nobody ever sees half of
// one.

#ifndef TELLTALE_COLLECTOR_CLI_FILES_H_
#define TELLTALE_COLLECTOR_CLI_FILES_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::cli {

// Of certificates, keys, and lists of revoked ones.
inline constexpr size_t kMaxPem = 1 << 20;

// The whole file; "-" is standard input. NotFound, PermissionDenied, ResourceExhausted beyond
// `limit`: each names the path.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t limit);

// Writes beside the path, syncs, renames. With overwrite off AlreadyExists if the path is there,
// also when it comes into being meanwhile.
absl::Status WriteFile(const std::string& path, const std::string& data, mode_t mode,
                       bool overwrite);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_FILES_H_
