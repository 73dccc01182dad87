#include "collector/cli/completion.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/codec.h"

namespace telltale::cli {
namespace {

std::string VitalNames() {
  std::vector<std::string> names;
  const v1::Schema schema = proto::BuiltinSchema();
  for (const v1::VitalDescriptor& vital : schema.vitals()) {
    names.push_back(vital.name());
    for (const v1::SubDescriptor& sub : vital.subs()) {
      names.push_back(absl::StrCat(vital.name(), "/", sub.name()));
    }
  }
  return absl::StrJoin(names, " ");
}

// Values of flags that have a fixed few.
std::map<std::string, std::string> KnownValues() {
  return {{"--vital", VitalNames()},
          {"--by", "process exe user cgroup site stack node"},
          {"--tier", "auto raw 5m 1h 1d"},
          {"--type", "exec exit oom clock_step agent_start"},
          {"--output", "table json csv folded svg pprof"},
          {"-o", "table json csv folded svg pprof"},
          {"--role", "viewer operator node collector"}};
}

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// All flags of a command, and its own commands.
std::string WordsOf(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* command : Commands(app)) words.push_back(command->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
  }
  return absl::StrJoin(words, " ");
}

void AddCases(const CLI::App& app, const std::string& path, std::string* cases) {
  for (const CLI::App* command : Commands(app)) {
    const std::string name = absl::StrCat(path, path.empty() ? "" : " ", command->get_name());
    absl::StrAppend(cases, "    \"", name, "\") words=\"", WordsOf(*command), "\" ;;\n");
    AddCases(*command, name, cases);
  }
}

}  // namespace

absl::StatusOr<std::string> Completion(const CLI::App& app, const std::string& shell) {
  if (shell != "bash" && shell != "zsh") {
    return absl::InvalidArgumentError(
        absl::StrCat("completion: \"", shell, "\": must be bash or zsh"));
  }
  std::string values, cases;
  for (const auto& [flag, words] : KnownValues()) {
    absl::StrAppend(&values, "    ", flag, ") words=\"", words, "\" ;;\n");
  }
  AddCases(app, "", &cases);
  std::vector<std::string> names, with_own;
  for (const CLI::App* command : Commands(app)) {
    names.push_back(command->get_name());
    if (!Commands(*command).empty()) with_own.push_back(command->get_name());
  }
  const bool zsh = shell == "zsh";
  // In a directory of fpath, zsh runs the whole file as a function called _telltale when the first
  // completion is asked for: ours has another name, and that first one is answered, too.
  const char* const function = zsh ? "_telltale_words" : "_telltale";
  const char* const begin =
      zsh ? "#compdef telltale\n"
            "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
            "autoload -U +X bashcompinit && bashcompinit\n"
          : "";
  const char* const end =
      zsh ? "if [[ ${funcstack[1]} == _telltale ]]; then _bash_complete -F _telltale_words; fi\n"
          : "";
  // The command is the first word that is one, then, where it has commands of its own, the next
  // word.
  return absl::StrCat(begin, function,
                      "() {\n"
                      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" before=\"\" command=\"\" "
                      "words=\"\" i\n"
                      "  [ \"$COMP_CWORD\" -gt 0 ] && before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
                      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
                      "    case \"$command:${COMP_WORDS[i]}\" in\n"
                      "      :-*) ;;\n"
                      "      :",
                      absl::StrJoin(names, "|:"), ") command=\"${COMP_WORDS[i]}\" ;;\n      ",
                      absl::StrJoin(with_own, ":[a-z]*|"),
                      ":[a-z]*) command=\"$command ${COMP_WORDS[i]}\" ;;\n"
                      "    esac\n"
                      "  done\n"
                      "  case \"$before\" in\n",
                      values,
                      "    --ca|--cert|--key|--file|--log|--dir) COMPREPLY=($(compgen -f -- "
                      "\"$current\")); return ;;\n"
                      "  esac\n"
                      "  [ -z \"$words\" ] && case \"$command\" in\n"
                      "    \"\") words=\"",
                      WordsOf(app), "\" ;;\n", cases,
                      "  esac\n"
                      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                      "}\n"
                      "complete -F ",
                      function, " telltale\n", end);
}

}  // namespace telltale::cli
