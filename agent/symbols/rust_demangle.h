// Readable names of Rust functions, both manglings. Names come from any user's files: the result
// and the work are bounded, whatever a name repeats. Free function: any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_RUST_DEMANGLE_H_
#define TELLTALE_AGENT_SYMBOLS_RUST_DEMANGLE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace telltale::agent {

// nullopt: not a Rust name, or one that contradicts itself. What only tells builds apart is left
// out: hashes, crate disambiguators, suffixes of the compiler's passes; lifetimes too.
//   _ZN3std2io5stdio6_print17h0123456789abcdefE  std::io::stdio::_print     (legacy)
//   _RINvCs1_4demo3maxhE                         demo::max::<u8>            (v0, RFC 2603)
// Longer results end at `max_bytes`.
std::optional<std::string> RustDemangled(std::string_view mangled, size_t max_bytes);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_RUST_DEMANGLE_H_
