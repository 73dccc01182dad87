#include "collector/cli/documents.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "collector/cli/commands.h"
#include "collector/cli/completion.h"
#include "collector/cli/files.h"
#include "collector/cli/man_page.h"
#include "collector/cli/session.h"
#include "collector/query/nearest.h"

namespace telltale::cli {
namespace {

constexpr mode_t kReadable = 0644;

int PrintCompletion(const CLI::App& app, const std::string& shell) {
  const absl::StatusOr<std::string> script = Completion(app, shell);
  if (!script.ok()) return Report(script.status());
  Print(*script);
  return kOk;
}

int PrintManPage(const CLI::App& app, const Arguments& arguments) {
  const std::map<std::string, std::string> pages = ManPages(app);
  if (!arguments.file.empty()) {  // a directory to write all of them to
    for (const auto& [name, page] : pages) {
      const absl::Status written =
          WriteFile(absl::StrCat(arguments.file, "/", name, ".1"), page, kReadable, true);
      if (!written.ok()) return Report(written);
    }
    return kOk;
  }
  const std::string name = arguments.name.empty() ? "telltale" : "telltale-" + arguments.name;
  const auto page = pages.find(absl::StrReplaceAll(name, {{" ", "-"}}));
  if (page == pages.end()) {
    std::vector<std::string> names;
    for (const auto& [known, text] : pages) {
      if (known != "telltale") names.push_back(known.substr(sizeof("telltale-") - 1));
    }
    return Report(absl::NotFoundError(absl::StrCat("man: no page of \"", arguments.name, "\"",
                                                   query::NearestHint(arguments.name, names))));
  }
  Print(page->second);
  return kOk;
}

}  // namespace

void AddDocuments(CLI::App& app, Arguments& a, std::function<int()>& run) {
  CLI::App* completion =
      app.add_subcommand("completion", "what a shell needs to complete commands and flags");
  completion->add_option("SHELL", a.name, "bash or zsh")->required();
  completion->footer(
      "\nExamples:\n  source <(telltale completion bash)\n  telltale completion bash > "
      "/etc/bash_completion.d/telltale\n  telltale completion zsh > "
      "/usr/share/zsh/site-functions/_telltale");
  completion->callback([&] { run = [&] { return PrintCompletion(app, a.name); }; });
  CLI::App* man = app.add_subcommand("man", "the manual page of telltale or of a command");
  man->add_option("COMMAND", a.name, "e.g. top");
  man->add_option("--dir", a.file, "write all pages into this directory instead");
  man->footer(
      "\nExamples:\n  telltale man top | man -l -\n  telltale man --dir /usr/share/man/man1");
  man->callback([&] { run = [&] { return PrintManPage(app, a); }; });
}

}  // namespace telltale::cli
