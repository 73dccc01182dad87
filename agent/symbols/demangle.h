// Readable names of C++ and Rust functions. Free function: any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_DEMANGLE_H_
#define TELLTALE_AGENT_SYMBOLS_DEMANGLE_H_

#include <string>
#include <string_view>

namespace telltale::agent {

// `mangled` made readable by the rules of Rust (rust_demangle.h) or the C++ ABI; as it is if it is
// no mangled name, or a C++ one whose back-references could make it explode (each may double the
// result; names come from any user's files). The result is at most 512 bytes.
std::string Demangled(std::string_view mangled);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_DEMANGLE_H_
