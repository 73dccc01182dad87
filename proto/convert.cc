#include "proto/convert.h"

#include <ctime>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace telltale::proto {
namespace {

// 1.25, 12.5, 125
std::string ThreeDigits(double value) {
  if (value < 10) return absl::StrFormat("%.2f", value);
  if (value < 100) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.0f", value);
}

// LossReason > LOSS_REASON_
std::string PrefixOf(const std::string& type_name) {
  std::string prefix;
  for (const char c : type_name) {
    if (absl::ascii_isupper(static_cast<unsigned char>(c)) && !prefix.empty()) prefix += '_';
    prefix += absl::ascii_toupper(static_cast<unsigned char>(c));
  }
  return prefix + "_";
}

}  // namespace

BaseUnit BaseUnitOf(v1::Unit unit) {
  switch (unit) {
    case v1::UNIT_NANOSECONDS:
      return {"s", 1e-9};
    case v1::UNIT_BYTES:
      return {"bytes", 1};
    case v1::UNIT_PAGES:
      return {"pages", 1};
    case v1::UNIT_CALLS:
      return {"calls", 1};
    case v1::UNIT_SIGNALS:
      return {"signals", 1};
    case v1::UNIT_MISSES:
      return {"misses", 1};
    case v1::UNIT_SEGMENTS:
      return {"segments", 1};
    default:
      return {"units", 1};
  }
}

std::string ShowNumber(uint64_t number) {
  const std::string digits = absl::StrCat(number);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string ShowDuration(uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < 1'000) return absl::StrCat(ns, " ns");
  if (ns < 1'000'000) return ThreeDigits(value / 1e3) + " us";
  if (ns < 1'000'000'000) return ThreeDigits(value / 1e6) + " ms";
  if (ns < 1'000'000'000'000) return ThreeDigits(value / 1e9) + " s";
  return ShowNumber(ns / 1'000'000'000) + " s";
}

std::string ShowBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string ShowWeight(v1::Unit unit, uint64_t weight) {
  if (unit == v1::UNIT_NANOSECONDS) return ShowDuration(weight);
  if (unit == v1::UNIT_BYTES) return ShowBytes(weight);
  return absl::StrCat(ShowNumber(weight), " ", BaseUnitOf(unit).name);
}

std::string ShowTime(uint64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm utc{};
  if (gmtime_r(&seconds, &utc) == nullptr) return absl::StrCat(unix_ns, " ns since 1970");
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900, utc.tm_mon + 1,
                         utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                         unix_ns / 1'000'000 % 1'000);
}

std::string ShowHex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

std::string EnumWord(const google::protobuf::EnumDescriptor& type, int number) {
  const google::protobuf::EnumValueDescriptor* value = type.FindValueByNumber(number);
  if (value == nullptr) return absl::StrCat(number);
  const std::string prefix = PrefixOf(type.name());
  const std::string& name = value->name();
  return absl::AsciiStrToLower(
      name.compare(0, prefix.size(), prefix) == 0 ? name.substr(prefix.size()) : name);
}

}  // namespace telltale::proto
