// Rust's v0 mangling (RFC 2603), read in one pass by its grammar. Free functions: any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_RUST_V0_H_
#define TELLTALE_AGENT_SYMBOLS_RUST_V0_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace telltale::agent {

inline bool IsDigit(char c) { return '0' <= c && c <= '9'; }
// As both manglings write it: lower case alone.
inline bool IsHexDigit(char c) { return IsDigit(c) || ('a' <= c && c <= 'f'); }

// `mangled` without its "_R", as RustDemangled (rust_demangle.h) says. References repeat what was
// read before: nesting and steps are bounded, so that no name takes longer than 20,000 steps.
std::optional<std::string> RustV0Demangled(std::string_view mangled, size_t max_bytes);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_RUST_V0_H_
