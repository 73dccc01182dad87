#include "config/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace telltale::config {
namespace {

struct UnitName {
  const char* name;
  uint64_t factor;
};

constexpr std::array<UnitName, 6> kTimeUnits = {
    {{"y", 365 * 86400ull}, {"d", 86400}, {"h", 3600}, {"min", 60}, {"m", 60}, {"s", 1}}};
constexpr std::array<UnitName, 9> kByteUnits = {{{"TiB", 1ull << 40},
                                                 {"GiB", 1ull << 30},
                                                 {"MiB", 1ull << 20},
                                                 {"KiB", 1ull << 10},
                                                 {"TB", 1ull << 40},
                                                 {"GB", 1ull << 30},
                                                 {"MB", 1ull << 20},
                                                 {"KB", 1ull << 10},
                                                 {"B", 1}}};

// Digits, then one of the units or nothing.
template <size_t N>
absl::StatusOr<uint64_t> ParseWithUnit(const std::string& text,
                                       const std::array<UnitName, N>& units, const char* allowed) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc()) return absl::InvalidArgumentError(allowed);
  const std::string unit(parsed.ptr, end);
  if (unit.empty()) return value;
  for (const UnitName& known : units) {
    if (unit != known.name) continue;
    if (value > UINT64_MAX / known.factor) return absl::InvalidArgumentError("too large");
    return value * known.factor;
  }
  return absl::InvalidArgumentError(allowed);
}

template <size_t N>
std::string FormatWithUnit(uint64_t value, const std::array<UnitName, N>& units) {
  for (const UnitName& unit : units) {
    if (value >= unit.factor && value % unit.factor == 0) {
      return absl::StrCat(value / unit.factor, unit.name);
    }
  }
  return absl::StrCat(value);
}

}  // namespace

absl::StatusOr<uint64_t> ParseNumber(const std::string& text, uint64_t low, uint64_t high) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < low || value > high) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be a whole number from ", low, " to ", high));
  }
  return value;
}

absl::StatusOr<uint64_t> ParseSeconds(const std::string& text, uint64_t low, uint64_t high) {
  auto value =
      ParseWithUnit(text, kTimeUnits, "must be a duration such as 40s, 5min, 12h, 21d, 5y");
  if (!value.ok()) return value;
  if (*value < low || *value > high) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be a duration from ", FormatSeconds(low), " to ", FormatSeconds(high)));
  }
  return value;
}

std::string FormatSeconds(uint64_t seconds) {
  return seconds == 0 ? "0s" : FormatWithUnit(seconds, kTimeUnits);
}

absl::StatusOr<uint64_t> ParseBytes(const std::string& text, uint64_t low, uint64_t high) {
  auto value = ParseWithUnit(text, kByteUnits, "must be a size such as 256KiB, 1MiB, 64GiB");
  if (!value.ok()) return value;
  if (*value < low || *value > high) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be a size from ", FormatBytes(low), " to ", FormatBytes(high)));
  }
  return value;
}

std::string FormatBytes(uint64_t bytes) {
  return bytes == 0 ? "0" : FormatWithUnit(bytes, kByteUnits);
}

absl::StatusOr<bool> ParseBool(const std::string& text) {
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off") return false;
  return absl::InvalidArgumentError("must be true or false");
}

absl::StatusOr<Address> ParseAddress(const std::string& text) {
  const char* const allowed = "must be HOST:PORT, :PORT or [IPV6]:PORT";
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return absl::InvalidArgumentError(allowed);
  Address address;
  address.host = text.substr(0, colon);
  if (!address.host.empty() && address.host.front() == '[') {
    if (address.host.back() != ']') return absl::InvalidArgumentError(allowed);
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    return absl::InvalidArgumentError(allowed);
  }
  const auto port = ParseNumber(text.substr(colon + 1), 0, 65535);
  if (!port.ok()) return absl::InvalidArgumentError("the port must be a number from 0 to 65535");
  address.port = static_cast<uint16_t>(*port);
  return address;
}

bool IsUtf8(const std::string& text) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // by length in bytes
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    if (first < 0x80) continue;
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc0 || first >= 0xf8 || i + length - 1 > text.size()) return false;
    uint32_t point = first & (0x7fu >> length);
    for (size_t rest = 1; rest < length; ++rest) {
      const auto next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3fu);
    }
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    if (point < kLeast[length] || point > 0x10ffff || surrogate) return false;
  }
  return true;
}

std::string Nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_edits = std::max<size_t>(2, word.size() / 2);
  for (const std::string& candidate : candidates) {
    // Levenshtein distance, one row at a time.
    std::vector<size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        const size_t above = row[j];
        row[j] =
            std::min({above + 1, row[j - 1] + 1, diagonal + (word[i - 1] != candidate[j - 1])});
        diagonal = above;
      }
    }
    if (row.back() < best_edits) {
      best_edits = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace telltale::config
