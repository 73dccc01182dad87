// What a token is made of: a prefix that tells what it is for, an id and 256 random bits, as in
// "telltale_1a2b3c4d_" and 64 hexadecimal digits. The id is no secret and finds the entry; of the
// whole only its SHA-256 is kept: there is nothing to guess that a slower hash would protect. Any
// thread.

#ifndef TELLTALE_COLLECTOR_ACCESS_TOKEN_SECRET_H_
#define TELLTALE_COLLECTOR_ACCESS_TOKEN_SECRET_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace telltale::access {

struct TokenSecret {
  std::string id;
  std::string whole;   // shown once
  std::string sha256;  // of the whole, 32 bytes; kept
};

// With an id that `taken` does not hold. Errors as collector::RandomHex.
absl::StatusOr<TokenSecret> NewTokenSecret(const char* step, std::string_view prefix,
                                           const std::function<bool(const std::string&)>& taken);

// The id in it; none if it has not the form of a token with this prefix.
std::optional<std::string> TokenIdOf(std::string_view prefix, std::string_view secret);

// Whether it is the one this was kept of; takes as long for a wrong one.
bool IsSecretOf(std::string_view secret, std::string_view sha256);

}  // namespace telltale::access

#endif  // TELLTALE_COLLECTOR_ACCESS_TOKEN_SECRET_H_
