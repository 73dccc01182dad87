// Words of commands that are offered to be pasted into a shell.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_FORMATS_SHELL_WORD_H_
#define TELLTALE_COLLECTOR_FORMATS_SHELL_WORD_H_

#include <string>
#include <string_view>

namespace telltale::formats {

// A word as a shell takes it and a terminal can show it: plain, in quotes, or, where there are
// bytes in it that a terminal would obey, as $'...' of bash, zsh and ksh. Safe for names that came
// from elsewhere.
std::string Quoted(std::string_view word);

}  // namespace telltale::formats

#endif  // TELLTALE_COLLECTOR_FORMATS_SHELL_WORD_H_
