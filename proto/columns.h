// A message turned on its side: the first fields of all its parts stand together, then the second
// ones, each column written in the way in which it repeats itself most. Compressed, that takes a
// good part less than the message does, and messages of one kind that stand beside each other take
// less again. What is stored for weeks is kept so (storage/FORMAT.md has the grammar); nothing that
// travels is.
//
// Free functions, no state: any thread.

#ifndef TELLTALE_PROTO_COLUMNS_H_
#define TELLTALE_PROTO_COLUMNS_H_

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::proto {

// The columns of a message of this type; FromColumns gives back exactly `message`. Nothing: the
// bytes are not canonical or have fields that the type does not, so columns would lose something.
std::optional<std::string> ToColumns(std::string_view message,
                                     const google::protobuf::Descriptor& type);

// Whether a field is wanted; `path`: its number, behind those of the fields it stands in.
using WantsField = std::function<bool(const std::vector<int>& path)>;

// Whether a message in a field of the whole one is wanted: which field, and the number in the
// message's own field 1.
using WantsMessage = std::function<bool(int field, uint64_t first)>;

// The message, which has at most `limit` bytes. It knows no type: columns name their fields. What
// is read is bounded by the length of `columns`; InvalidArgument: they are none. Of fields and
// messages that are not wanted nothing is made, and not all is checked; empty: all is.
absl::StatusOr<std::string> FromColumns(std::string_view columns, size_t limit,
                                        const WantsField& wants = {},
                                        const WantsMessage& wants_message = {});

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_COLUMNS_H_
