// How many objects parsing protobuf bytes would create, counted on the bytes themselves: an empty
// message costs two bytes on the wire and hundreds in memory, so a body of 1 MiB could claim 100
// MB. Free function: any thread.

#ifndef TELLTALE_PROTO_MESSAGE_COUNT_H_
#define TELLTALE_PROTO_MESSAGE_COUNT_H_

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"

namespace telltale::proto {

// Messages, strings and unknown fields in `bytes`, read as `type`, nested ones too; stops counting
// beyond `limit`. InvalidArgument if the bytes are no well-formed message of at most 16 levels
// without groups.
absl::StatusOr<size_t> CountObjects(std::string_view bytes,
                                    const google::protobuf::Descriptor& type, size_t limit);

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_MESSAGE_COUNT_H_
