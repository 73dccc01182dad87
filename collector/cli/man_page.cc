#include "collector/cli/man_page.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "telltale_version.h"

namespace telltale::cli {
namespace {

// Text that is to stand as it is: hyphens of flags, backslashes, and no line that begins as a
// request.
std::string Verbatim(const std::string& text) {
  std::string out = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

std::string Lines(const std::string& text) {
  std::string out;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    absl::StrAppend(&out, Verbatim(line), "\n");
  }
  return out;
}

std::string FlagsOf(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    const bool flag = option->nonpositional();
    const bool takes_value = flag && option->get_items_expected_max() > 0;
    absl::StrAppend(&out, ".TP\n.B ", Verbatim(option->get_name(!flag, flag)),
                    takes_value ? " \\fIVALUE\\fR" : "", "\n", Lines(option->get_description()));
  }
  return out;
}

std::string PageOf(const CLI::App& app, const std::string& name, const std::string& about) {
  const std::string called = absl::StrReplaceAll(name, {{"-", " "}});
  std::string footer = app.get_footer();
  while (!footer.empty() && footer.front() == '\n') footer.erase(0, 1);
  std::string out =
      absl::StrCat(".TH ", absl::AsciiStrToUpper(Verbatim(name)),
                   " 1 \"\" \"telltale " TELLTALE_VERSION "\"\n", ".SH NAME\n", Verbatim(name),
                   " \\- ", Verbatim(about), "\n.SH SYNOPSIS\n.B ", Verbatim(called), "\n");
  const std::vector<const CLI::App*> commands =
      app.get_subcommands([](const CLI::App*) { return true; });
  absl::StrAppend(&out, commands.empty() ? "" : "\\fICOMMAND\\fR\n", "[\\fIOPTIONS\\fR]\n");
  if (!commands.empty()) {
    absl::StrAppend(&out, ".SH COMMANDS\n");
    for (const CLI::App* command : commands) {
      absl::StrAppend(&out, ".TP\n.B ", Verbatim(command->get_name()), "\n",
                      Lines(command->get_description()));
    }
  }
  absl::StrAppend(&out, ".SH OPTIONS\n", FlagsOf(app));
  if (!footer.empty()) {
    absl::StrAppend(&out, name == "telltale" ? ".SH NOTES\n" : ".SH EXAMPLES\n", ".nf\n",
                    Lines(footer), ".fi\n");
  }
  return out;
}

void AddPages(const CLI::App& app, const std::string& name,
              std::map<std::string, std::string>* pages) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string of_command = absl::StrCat(name, "-", command->get_name());
    (*pages)[of_command] = PageOf(*command, of_command, command->get_description());
    AddPages(*command, of_command, pages);
  }
}

}  // namespace

std::map<std::string, std::string> ManPages(const CLI::App& app) {
  std::map<std::string, std::string> pages;
  pages["telltale"] = PageOf(app, "telltale", app.get_description());
  AddPages(app, "telltale", &pages);
  return pages;
}

}  // namespace telltale::cli
