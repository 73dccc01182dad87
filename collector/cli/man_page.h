// Manual pages, made from the same table of commands and flags as --help.
//
// Pure; the main thread.

#ifndef TELLTALE_COLLECTOR_CLI_MAN_PAGE_H_
#define TELLTALE_COLLECTOR_CLI_MAN_PAGE_H_

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace telltale::cli {

// By name ("telltale", "telltale-top"), in the language of man(7), for section 1.
std::map<std::string, std::string> ManPages(const CLI::App& app);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_MAN_PAGE_H_
