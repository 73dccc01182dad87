// Unpacks .gnu_debugdata: the symbol table that a stripped program of some distributions still
// carries, an ELF file of its own packed with xz. The bytes are any user's. Any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_MINI_DEBUG_INFO_H_
#define TELLTALE_AGENT_SYMBOLS_MINI_DEBUG_INFO_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace telltale::agent {

// InvalidArgument: no xz stream, or a damaged one. ResourceExhausted: unpacking it takes more
// memory than xz -9 asks for, or more than `max_bytes` come out (no more than that is reserved).
absl::StatusOr<std::string> UnpackMiniDebugInfo(std::string_view packed, size_t max_bytes);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_MINI_DEBUG_INFO_H_
