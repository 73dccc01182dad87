// zstd with a bound on both sides: what is opened was measured against a limit before memory was
// reserved for it. Free functions, no state: any thread.

#ifndef TELLTALE_PROTO_COMPRESS_H_
#define TELLTALE_PROTO_COMPRESS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace telltale::proto {

// How hard to try. A body that travels is made once an epoch and opened at once; what is stored
// stays for weeks.
enum class Effort { kTravel, kStore };

// One zstd frame with its content size and a checksum of the content.
absl::StatusOr<std::string> Compress(std::string_view raw, Effort effort = Effort::kTravel);

// Opens exactly one frame whose header states `stated` bytes of content, at most `limit`.
// InvalidArgument begins with `field` and says what does not fit.
absl::StatusOr<std::string> Decompress(std::string_view field, std::string_view frame,
                                       size_t stated, size_t limit);

// The same of a frame whose content's length is told by nothing but its header.
absl::StatusOr<std::string> DecompressWhole(std::string_view field, std::string_view frame,
                                            size_t limit);

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_COMPRESS_H_
