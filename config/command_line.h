// The command line of a program whose options stand in an OptionTable: a flag for each of them,
// --config, --check-config, --print-config, --version, --help, and what the program adds. Main
// thread.

#ifndef TELLTALE_CONFIG_COMMAND_LINE_H_
#define TELLTALE_CONFIG_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "config/load.h"
#include "config/options.h"

namespace telltale::config {

struct Program {
  std::string name;   // "telltale-agent"
  std::string about;  // one sentence
  std::string version;
  std::string default_file;
  std::string footer;  // of --help
  std::string commands_help;
  // The first is the one without a word. "backup DIR": it takes one argument.
  std::vector<std::string> commands;
};

// A flag that is no option of the table. Exactly one target is set.
struct ExtraFlag {
  std::string flag;  // "--json"
  std::string help;
  bool* set = nullptr;                         // takes no value
  std::string* value = nullptr;                // takes one
  std::vector<std::string>* values = nullptr;  // may be repeated
  std::string value_name = "";
};

struct CommandLine {
  Sources sources;  // with the environment, <prefix>CONFIG honoured
  std::string command;
  std::string argument;  // of a command that takes one
  bool check_config = false, print_config = false;
};

// What a program does before it does anything: go on, or end with this code. What is to be said has
// been said.
struct Parsed {
  CommandLine line;
  int exit_code = -1;  // -1: go on; 2: usage, one line with the nearest word
};
Parsed ParseCommandLine(int argc, char** argv, const Program& program, const OptionTable& table,
                        const std::vector<ExtraFlag>& extras = {});

}  // namespace telltale::config

#endif  // TELLTALE_CONFIG_COMMAND_LINE_H_
