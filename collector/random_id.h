// Ids of what people make, notes, silences and tokens: eight hexadecimal digits, short enough to
// type, drawn at random until nothing else has them. No secrets. Any thread.

#ifndef TELLTALE_COLLECTOR_RANDOM_ID_H_
#define TELLTALE_COLLECTOR_RANDOM_ID_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace telltale::collector {

inline constexpr size_t kIdDigits = 8;

// Two hexadecimal digits a byte. Unavailable, with `step` in front: there are no random numbers.
absl::StatusOr<std::string> RandomHex(const char* step, size_t bytes);

// One that `taken` does not hold. Errors as RandomHex.
absl::StatusOr<std::string> NewId(const char* step,
                                  const std::function<bool(const std::string&)>& taken);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_RANDOM_ID_H_
