// One entry of the table of commands, from which --help, completion and manual pages are made, and
// the flags that several commands share.
//
// The main thread.

#ifndef TELLTALE_COLLECTOR_CLI_COMMAND_OPTIONS_H_
#define TELLTALE_COLLECTOR_CLI_COMMAND_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "collector/cli/arguments.h"

namespace telltale::cli {

struct Command {
  const char* name;
  const char* about;
  const char* examples;
  std::function<void(CLI::App*, Arguments&)> options;
  int (*run)(const Arguments&);
};

void AddConnection(CLI::App* command, Arguments& a);
void AddNodes(CLI::App* command, Arguments& a);
// --from, --to, --at and --for; `usual`: the last so much without any of them; null: all.
void AddRange(CLI::App* command, Arguments& a, const char* usual);
// Only for answers that windows can give, too.
void AddTier(CLI::App* command, Arguments& a);
void AddVital(CLI::App* command, Arguments& a, const char* help);
void AddLimit(CLI::App* command, Arguments& a, int most, const char* help);
void AddProcess(CLI::App* command, Arguments& a);
void AddPage(CLI::App* command, Arguments& a);
// The other side of a comparison.
void AddAgainst(CLI::App* command, Arguments& a);
void AddHideSelf(CLI::App* command, Arguments& a);
// What may stand behind a flag that takes a number; CLI11 quotes what is wrong with another.
CLI::Validator From1To(int most);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_COMMAND_OPTIONS_H_
