// Completion for shells, made from the same table of commands and flags as --help.
//
// Pure; the main thread.

#ifndef TELLTALE_COLLECTOR_CLI_COMPLETION_H_
#define TELLTALE_COLLECTOR_CLI_COMPLETION_H_

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/statusor.h"

namespace telltale::cli {

// To be sourced by the shell. `shell`: bash or zsh; InvalidArgument: another one.
absl::StatusOr<std::string> Completion(const CLI::App& app, const std::string& shell);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_COMPLETION_H_
