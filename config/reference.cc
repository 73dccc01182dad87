#include "config/reference.h"

#include "absl/strings/str_cat.h"

namespace telltale::config {

std::string ReferenceMarkdown(const OptionTable& table) {
  std::string text =
      "| option | value | default | while running | meaning |\n|---|---|---|---|---|\n";
  for (const Option& option : table.options()) {
    const std::string value = option.get();
    absl::StrAppend(&text, "| `", option.info.key, "` | ", option.info.value_name, " | ",
                    value.empty() ? "" : absl::StrCat("`", value, "`"), " | ",
                    option.info.reloadable ? "SIGHUP" : "restart", " | ", option.info.help, " |\n");
  }
  return text;
}

}  // namespace telltale::config
