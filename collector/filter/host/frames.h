// Frames of filter_host.proto over one end of a socket pair: a length of 4 bytes, little endian,
// and a message. Nobody waits for ever, and nobody allocates what a length claims before it is
// checked.
//
// One thread. Owns nothing: the descriptor stays its owner's.

#ifndef TELLTALE_COLLECTOR_FILTER_HOST_FRAMES_H_
#define TELLTALE_COLLECTOR_FILTER_HOST_FRAMES_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::filter {

// Asked before each piece, and again and again while the other side lets wait; an error ends the
// waiting and is what the call returns.
using MayWait = std::function<absl::Status()>;

// Unavailable: the other side is gone. ResourceExhausted: more bytes than `limit`.
absl::Status WriteFrame(int socket, const std::string& message, const MayWait& may_wait);
absl::StatusOr<std::string> ReadFrame(int socket, size_t limit, const MayWait& may_wait);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_HOST_FRAMES_H_
