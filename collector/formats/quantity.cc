#include "collector/formats/quantity.h"

#include <cmath>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/formats/escape.h"

namespace telltale::formats {
namespace {

// "1234567" -> "1,234,567"
std::string Grouped(double value) {
  std::string digits = absl::StrFormat("%.0f", std::abs(value));
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return absl::StrCat(value < 0 ? "-" : "", digits);
}

// Three significant digits, never in exponent form.
std::string ThreeDigits(double value) {
  const double size = std::abs(value);
  if (size >= 1000) return Grouped(value);
  if (size >= 100 || size == 0) return absl::StrFormat("%.0f", value);
  if (size >= 10) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.2f", value);
}

struct Scale {
  double factor;
  const char* name;
};

std::string Scaled(double value, std::initializer_list<Scale> scales) {
  for (const Scale& scale : scales) {
    // 999.6 of a unit rounds to 1,000: that is one of the next.
    if (std::abs(value) >= scale.factor * 0.9995) {
      return absl::StrCat(ThreeDigits(value / scale.factor), " ", scale.name);
    }
  }
  const Scale& smallest = *(scales.end() - 1);
  return absl::StrCat(ThreeDigits(value / smallest.factor), " ", smallest.name);
}

std::string TimeQuantity(double seconds) {
  if (seconds == 0) return "0 s";
  if (std::abs(seconds) >= 2 * 86400) return ThreeDigits(seconds / 86400) + " d";
  if (std::abs(seconds) >= 2 * 3600) return ThreeDigits(seconds / 3600) + " h";
  if (std::abs(seconds) >= 600) return ThreeDigits(seconds / 60) + " min";
  return Scaled(seconds, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
}

std::string ByteQuantity(double bytes) {
  if (std::abs(bytes) < 1024) return absl::StrFormat("%s B", ThreeDigits(std::round(bytes)));
  constexpr double kKi = 1024;
  return Scaled(
      bytes,
      {{kKi * kKi * kKi * kKi, "TiB"}, {kKi * kKi * kKi, "GiB"}, {kKi * kKi, "MiB"}, {kKi, "KiB"}});
}

// "calls" -> "call", "misses" -> "miss".
std::string_view Singular(std::string_view unit) {
  for (const std::string_view ending : {"ses", "s"}) {
    if (unit.size() > ending.size() && unit.substr(unit.size() - ending.size()) == ending) {
      return unit.substr(0, unit.size() - (ending == "ses" ? 2 : 1));
    }
  }
  return unit;
}

}  // namespace

std::string Count(double value) {
  if (std::abs(value) < 999'999.5) {
    const bool whole = value == std::floor(value);
    return whole || std::abs(value) >= 100 ? Grouped(std::round(value)) : ThreeDigits(value);
  }
  return Scaled(value, {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}});
}

std::string Quantity(double value, std::string_view unit) {
  if (!std::isfinite(value)) return "?";
  if (unit == "s") return TimeQuantity(value);
  if (unit == "bytes") return ByteQuantity(value);
  return absl::StrCat(Count(value), " ", Escaped(value == 1 ? Singular(unit) : unit));
}

std::string Rate(double value, std::string_view unit) {
  if (!std::isfinite(value)) return "?";
  if (unit == "s") {
    if (value == 0) return "0 s/s";
    return Scaled(value, {{1, "s/s"}, {1e-3, "ms/s"}, {1e-6, "us/s"}, {1e-9, "ns/s"}});
  }
  return absl::StrCat(Quantity(value, unit), "/s");
}

std::string Rate(double value, std::string_view unit, std::string_view vital) {
  const std::string_view name = vital.substr(0, vital.find('/'));
  const bool busy = name == "cpu" || name == "softirq";
  const bool waits =
      name == "sched_delay" || name == "blocking" || name == "lock" || name == "reclaim";
  if (unit != "s" || !(busy || waits) || !std::isfinite(value)) return Rate(value, unit);
  const std::string number = value == 0      ? "0"
                             : value < 0.001 ? "<0.001"
                             : value < 0.1   ? absl::StrFormat("%.3f", value)
                                             : ThreeDigits(value);
  return absl::StrCat(number, busy ? " CPUs" : " waiting");
}

std::string Share(double share) {
  if (!std::isfinite(share)) return "?";
  const double percent = share * 100;
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  return percent >= 99.95 || percent == 0 ? absl::StrFormat("%.0f %%", percent)
                                          : absl::StrFormat("%.1f %%", percent);
}

std::string Plural(double count, std::string_view noun) {
  return absl::StrCat(Count(count), " ", std::string(noun), count == 1 ? "" : "s");
}

}  // namespace telltale::formats
