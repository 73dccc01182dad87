#include "collector/formats/shell_word.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/formats/escape.h"

namespace telltale::formats {

std::string Quoted(std::string_view word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./:=+,@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  // Both ways at once; which one it is shows at the end.
  std::string quoted, escaped;
  bool shown = true;
  while (!word.empty()) {
    const size_t length = std::max<size_t>(1, HeadOf(word).length);
    const std::string point(word.substr(0, length));
    word.remove_prefix(length);
    quoted += point == "'" ? "'\\''" : point;
    if (point == "'" || point == "\\") {
      absl::StrAppend(&escaped, "\\", point);
    } else if (Escaped(point) == point) {
      escaped += point;
    } else {
      shown = false;
      for (const char byte : point) {
        absl::StrAppendFormat(&escaped, "\\x%02x", static_cast<unsigned char>(byte));
      }
    }
  }
  return shown ? absl::StrCat("'", quoted, "'") : absl::StrCat("$'", escaped, "'");
}

}  // namespace telltale::formats
