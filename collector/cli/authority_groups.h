// The groups of commands about who is let do what: `pki` certificates, `token` bearer tokens,
// `enroll` how nodes come to certificates. `run` becomes what was asked for, when `app` parses it;
// `app`, `a` and `run` outlive that.
//
// The main thread.

#ifndef TELLTALE_COLLECTOR_CLI_AUTHORITY_GROUPS_H_
#define TELLTALE_COLLECTOR_CLI_AUTHORITY_GROUPS_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "collector/cli/arguments.h"

namespace telltale::cli {

void AddPki(CLI::App& app, Arguments& a, std::function<int()>& run);
void AddToken(CLI::App& app, Arguments& a, std::function<int()>& run);
void AddEnroll(CLI::App& app, Arguments& a, std::function<int()>& run);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_AUTHORITY_GROUPS_H_
