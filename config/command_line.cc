#include "config/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values.h"

namespace telltale::config {
namespace {

constexpr int kUsage = 2;

std::string DidYouMean(const std::string& word, const std::vector<std::string>& words) {
  const std::string nearest = Nearest(word.substr(0, word.find('=')), words);
  return nearest.empty() ? "; see --help" : absl::StrCat("; did you mean ", nearest, "?");
}

class Parser {
 public:
  Parser(const Program& program, const OptionTable& table, const std::vector<ExtraFlag>& extras)
      : program_(program), table_(table), app_(program.about, program.name) {
    app_.footer(program.footer);
    app_.allow_extras();
    app_.set_version_flag("--version", absl::StrCat(program.name, " ", program.version));
    parsed_.line.command = program.commands.front();
    app_.add_option("command", parsed_.line.command, program.commands_help);
    for (const std::string& command : program.commands) {
      const size_t space = command.find(' ');
      words_.push_back(command.substr(0, space));
      arguments_.push_back(space == std::string::npos ? "" : command.substr(space + 1));
      if (space != std::string::npos && !takes_argument_) {
        takes_argument_ = true;
        app_.add_option("argument", parsed_.line.argument, "what the command works on");
      }
    }
    app_.add_option(
        "--config", parsed_.line.sources.file,
        absl::StrCat("configuration file; default ", program.default_file, " if it exists"));
    app_.add_flag("--check-config", parsed_.line.check_config,
                  "read configuration and certificates, then end");
    app_.add_flag("--print-config", parsed_.line.print_config,
                  "print the effective configuration, then end");
    names_ = {"--config", "--check-config", "--print-config", "--version", "--help"};
    for (const ExtraFlag& extra : extras) AddExtra(extra);
    for (const Option& option : table.options()) {
      const std::string flag = table.Flag(option.info);
      CLI::Option* added = app_.add_option(flag, option.info.help);
      added->type_name(option.info.value_name)->expected(1);
      options_.emplace_back(added, option.info.key);
      names_.push_back(flag);
    }
  }

  Parsed Parse(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
      parsed_.exit_code = app_.exit(help);
      return parsed_;
    } catch (const CLI::CallForVersion& version) {
      parsed_.exit_code = app_.exit(version);
      return parsed_;
    } catch (const CLI::ParseError& error) {
      return Usage(absl::StrCat("flags: ", error.what(), "; see --help"));
    }
    if (const auto rest = app_.remaining(); !rest.empty()) {
      return Usage(absl::StrCat("flags: unknown argument ", rest[0], DidYouMean(rest[0], names_)));
    }
    const std::string& command = parsed_.line.command;
    const auto found = std::find(words_.begin(), words_.end(), command);
    if (found == words_.end()) {
      return Usage(absl::StrCat("command: ", command, " is none of ", absl::StrJoin(words_, ", "),
                                DidYouMean(command, words_)));
    }
    const std::string& wanted = arguments_[static_cast<size_t>(found - words_.begin())];
    const std::string& argument = parsed_.line.argument;
    if (wanted.empty() != argument.empty()) {
      return Usage(wanted.empty()
                       ? absl::StrCat("flags: unknown argument ", argument, "; see --help")
                       : absl::StrCat("command: ", command, " needs ", wanted, "; see --help"));
    }
    FillSources(parsed_.line.sources);
    return parsed_;
  }

 private:
  void AddExtra(const ExtraFlag& extra) {
    if (extra.set != nullptr) {
      app_.add_flag(extra.flag, *extra.set, extra.help);
    } else if (extra.value != nullptr) {
      app_.add_option(extra.flag, *extra.value, extra.help)->type_name(extra.value_name);
    } else {
      app_.add_option(extra.flag, *extra.values, extra.help)
          ->type_name(extra.value_name)
          ->allow_extra_args(false);
    }
    names_.push_back(extra.flag);
  }

  void FillSources(Sources& sources) const {
    for (const auto& [option, key] : options_) {
      if (option->count() > 0) sources.flags.emplace_back(key, option->results().back());
    }
    sources.default_file = program_.default_file;
    sources.environment = Environment(environ);
    for (const auto& [name, value] : sources.environment) {
      if (name == table_.prefix() + "CONFIG" && sources.file.empty()) sources.file = value;
    }
  }

  Parsed Usage(const std::string& line) {
    std::fprintf(stderr, "%s: %s\n", program_.name.c_str(), line.c_str());
    parsed_.exit_code = kUsage;
    return parsed_;
  }

  const Program& program_;
  const OptionTable& table_;
  CLI::App app_;
  Parsed parsed_;
  std::vector<std::pair<CLI::Option*, std::string>> options_;
  std::vector<std::string> names_;
  std::vector<std::string> words_, arguments_;  // of the commands, each with what it takes
  bool takes_argument_ = false;
};

}  // namespace

Parsed ParseCommandLine(int argc, char** argv, const Program& program, const OptionTable& table,
                        const std::vector<ExtraFlag>& extras) {
  return Parser(program, table, extras).Parse(argc, argv);
}

}  // namespace telltale::config
