// What counts as text that may be shown: the one rule behind SanitizeText and every check of a
// string that came from another machine. Free functions: any thread.

#ifndef TELLTALE_PROTO_TEXT_H_
#define TELLTALE_PROTO_TEXT_H_

#include <cstddef>
#include <string_view>

namespace telltale::proto {

// Length in bytes of the printable character `text` begins with; 0 if it begins with none:
// malformed UTF-8 (overlong forms, surrogates, beyond U+10FFFF), a control character (C0, DEL, C1:
// what terminals obey), a character that reorders or hides its neighbours (bidi controls,
// zero-width, line and paragraph separators, byte order mark, tags), or a noncharacter.
size_t PrintableCharacter(std::string_view text);

// Whether `text` is well-formed UTF-8, printable or not.
bool WellFormed(std::string_view text);

// Whether `text` consists of printable characters only. Empty is printable.
bool Printable(std::string_view text);

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_TEXT_H_
