// Text of unknown origin made harmless, for terminals and files alike.
//
// Pure functions; any thread.

#ifndef TELLTALE_COLLECTOR_FORMATS_ESCAPE_H_
#define TELLTALE_COLLECTOR_FORMATS_ESCAPE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace telltale::formats {

// One code point at the head of a text; length 0 if the bytes are not valid UTF-8 there.
struct CodePoint {
  uint32_t value = 0;
  size_t length = 0;
};
CodePoint HeadOf(std::string_view text);  // not empty

// Makes a string of unknown origin safe and unambiguous: control characters (C0, DEL, C1), bytes
// that are not UTF-8, and code points that reorder or hide text become \xNN or \u{NNNN}; a
// backslash is doubled.
std::string Escaped(std::string_view raw);

// Text as character data or attribute value of HTML and XML; control characters other than tab and
// newline, which XML has no way to write, become '?'.
std::string Markup(std::string_view text);

}  // namespace telltale::formats

#endif  // TELLTALE_COLLECTOR_FORMATS_ESCAPE_H_
