// telltale completion and telltale man: what the table of commands says, for shells and for man.
//
// The main thread.

#ifndef TELLTALE_COLLECTOR_CLI_DOCUMENTS_H_
#define TELLTALE_COLLECTOR_CLI_DOCUMENTS_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "collector/cli/arguments.h"

namespace telltale::cli {

// Adds both commands to `app`, which outlives what they put into `run`.
void AddDocuments(CLI::App& app, Arguments& a, std::function<int()>& run);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_DOCUMENTS_H_
