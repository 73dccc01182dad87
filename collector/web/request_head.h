// The first look at a request: its line and headers as they came, before anything reads them. What
// two readers on one path could take for different requests is refused here (RFC 9112,
// sections 2.2, 5.1, 5.2, 6.1 and 6.3; RFC 9110, section 7.2), so that what the parser makes of the
// rest is the only thing it can be.
//
// Pure functions, any thread.

#ifndef TELLTALE_COLLECTOR_WEB_REQUEST_HEAD_H_
#define TELLTALE_COLLECTOR_WEB_REQUEST_HEAD_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace telltale::web {

inline constexpr size_t kMaxHeaders = 100;

// Bytes of the head at the beginning of `bytes`, its empty line included. Nothing: it has not all
// come. InvalidArgument: a line ends otherwise than with CR LF, and waiting for more will not help.
absl::Status FindHead(std::string_view bytes, std::optional<size_t>* head_bytes);

// Ok: a request line and headers that can be read in one way only. InvalidArgument says what is
// wrong; ResourceExhausted: more than kMaxHeaders.
absl::Status CheckHead(std::string_view head);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_REQUEST_HEAD_H_
