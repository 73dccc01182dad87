// Text to value and back for the kinds of values a configuration has. Free functions; any thread. A
// failed parse is InvalidArgument saying what is allowed, without the key: the caller knows that.

#ifndef TELLTALE_CONFIG_VALUES_H_
#define TELLTALE_CONFIG_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::config {

// Whole number in [low, high].
absl::StatusOr<uint64_t> ParseNumber(const std::string& text, uint64_t low, uint64_t high);

// "40s", "5min", "12h", "21d", "5y" (365 days); a bare number is seconds.
absl::StatusOr<uint64_t> ParseSeconds(const std::string& text, uint64_t low, uint64_t high);
std::string FormatSeconds(uint64_t seconds);

// "256KiB", "1MiB", "64GiB" (KB, MB, GB mean the same); a bare number is bytes.
absl::StatusOr<uint64_t> ParseBytes(const std::string& text, uint64_t low, uint64_t high);
std::string FormatBytes(uint64_t bytes);

absl::StatusOr<bool> ParseBool(const std::string& text);

// "host:port", ":port", "[::1]:port".
struct Address {
  std::string host;  // empty: every interface
  uint16_t port = 0;
};
absl::StatusOr<Address> ParseAddress(const std::string& text);

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(const std::string& text);

// The candidate with the fewest edits, or empty if none is near.
std::string Nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace telltale::config

#endif  // TELLTALE_CONFIG_VALUES_H_
