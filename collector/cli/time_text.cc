#include "collector/cli/time_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "absl/strings/str_format.h"

namespace telltale::cli {
namespace {

struct LengthUnit {
  std::string_view name;
  absl::Duration length;
};

std::optional<absl::Duration> UnitLength(std::string_view name) {
  static const std::array<LengthUnit, 9> kUnits = {{{"ns", absl::Nanoseconds(1)},
                                                    {"us", absl::Microseconds(1)},
                                                    {"ms", absl::Milliseconds(1)},
                                                    {"s", absl::Seconds(1)},
                                                    {"m", absl::Minutes(1)},
                                                    {"min", absl::Minutes(1)},
                                                    {"h", absl::Hours(1)},
                                                    {"d", absl::Hours(24)},
                                                    {"w", absl::Hours(24 * 7)}}};
  for (const LengthUnit& unit : kUnits) {
    if (unit.name == name) return unit.length;
  }
  return std::nullopt;
}

absl::Status BadLength(const std::string& text) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "length \"%s\": not understood; write a positive number with a unit of ms, s, m, h, d or w, "
      "e.g. 90s, 5m, 1h30m, 2d",
      text));
}

// Longest range anybody may ask for: the oldest tier is kept 5 years.
constexpr absl::Duration kLongest = absl::Hours(24 * 366 * 20);

}  // namespace

absl::StatusOr<absl::Duration> ParseLength(const std::string& text) {
  absl::Duration sum;
  std::string_view rest = text;
  if (rest.empty()) return BadLength(text);
  while (!rest.empty()) {
    double number = 0;
    auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    if (error != std::errc() || !std::isfinite(number) || number < 0) return BadLength(text);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    size_t letters = 0;
    while (letters < rest.size() && rest[letters] >= 'a' && rest[letters] <= 'z') ++letters;
    std::optional<absl::Duration> unit = UnitLength(rest.substr(0, letters));
    if (!unit) return BadLength(text);
    sum += *unit * number;
    rest.remove_prefix(letters);
  }
  if (sum <= absl::ZeroDuration()) return BadLength(text);
  if (sum > kLongest) {
    return absl::InvalidArgumentError(
        absl::StrFormat("length \"%s\": longer than 20 years; give a shorter one", text));
  }
  return sum;
}

absl::StatusOr<absl::Time> ParseMoment(const std::string& text, absl::Time now, absl::TimeZone zone,
                                       Meant meant) {
  if (text == "now") return now;
  if (text.size() > 1 && (text[0] == '-' || text[0] == '+')) {
    absl::StatusOr<absl::Duration> length = ParseLength(text.substr(1));
    if (!length.ok()) return length.status();
    return text[0] == '-' ? now - *length : now + *length;
  }
  const absl::TimeZone::CivilInfo today = zone.At(now);
  const absl::CivilDay day(today.cs);
  if (text == "today") return absl::FromCivil(day, zone);
  if (text == "yesterday") return absl::FromCivil(day - 1, zone);
  if (text.size() > 1 && text[0] == '@') {
    double unix_s = 0;
    auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), unix_s,
                                        std::chars_format::fixed);
    if (error == std::errc() && end == text.data() + text.size() && std::abs(unix_s) < 1e11) {
      return absl::FromUnixMicros(static_cast<int64_t>(std::llround(unix_s * 1e6)));
    }
  }
  absl::Time moment;
  std::string ignored;
  // A zone in the text wins over `zone`; absl's RFC 3339 accepts a space for the T.
  for (const char* form :
       {"%Y-%m-%d%ET%H:%M:%E*S%Ez", "%Y-%m-%d%ET%H:%M%Ez", "%Y-%m-%d %H:%M:%E*S%Ez",
        "%Y-%m-%d %H:%M%Ez", "%Y-%m-%d%ET%H:%M:%E*S", "%Y-%m-%d%ET%H:%M", "%Y-%m-%d %H:%M:%E*S",
        "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    if (absl::ParseTime(form, text, zone, &moment, &ignored) && moment != absl::InfiniteFuture() &&
        moment != absl::InfinitePast()) {
      return moment;
    }
  }
  for (const char* form : {"%Y-%m-%d %H:%M:%E*S", "%Y-%m-%d %H:%M"}) {
    const std::string with_day = absl::StrFormat("%s %s", absl::FormatCivilTime(day), text);
    if (absl::ParseTime(form, with_day, zone, &moment, &ignored)) {
      const absl::CivilSecond said(zone.At(moment).cs);
      if (meant == Meant::kAhead && moment <= now) return absl::FromCivil(said + 24 * 3600, zone);
      if (meant == Meant::kPast && moment > now) return absl::FromCivil(said - 24 * 3600, zone);
      return moment;
    }
  }
  if (const std::optional<absl::Time> human = ParseHumanMoment(text, now, zone, meant)) {
    return *human;
  }
  if (meant == Meant::kAhead) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "time \"%s\": not understood; write +2h, 18:00, \"tomorrow 6:00\", \"monday 9:00\", "
        "\"2026-11-18 17:00\" (local) or 2026-11-18T17:00:00Z",
        text));
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "time \"%s\": not understood; write now, -2h, 17:00, \"yesterday 5pm\", \"last "
      "wednesday 17:00\", \"2026-11-18 17:00\" (local) or 2026-11-18T17:00:00Z",
      text));
}

absl::StatusOr<Range> ResolveRange(const RangeFlags& flags, absl::Time now, absl::TimeZone zone,
                                   absl::Duration usual) {
  const bool has_from = !flags.from.empty(), has_to = !flags.to.empty(), has_at = !flags.at.empty(),
             has_length = !flags.length.empty();
  if (has_at && (has_from || has_to)) {
    return absl::InvalidArgumentError(
        "time range: --at stands alone or with --for; leave out --from and --to");
  }
  if (has_from && has_to && has_length) {
    return absl::InvalidArgumentError(
        "time range: --from, --to and --for say it twice; leave one out");
  }
  if (!flags.around.empty()) {
    if (!has_at || has_length) {
      return absl::InvalidArgumentError(
          "time range: --around is so much on both sides of --at; give --at, and no --for");
    }
    absl::StatusOr<absl::Time> middle = ParseMoment(flags.at, now, zone);
    if (!middle.ok()) return middle.status();
    absl::StatusOr<absl::Duration> side = ParseLength(flags.around);
    if (!side.ok()) return side.status();
    return Range{*middle - *side, *middle + *side};
  }
  absl::Duration length = has_at ? absl::Minutes(1) : usual;
  if (has_length) {
    absl::StatusOr<absl::Duration> given = ParseLength(flags.length);
    if (!given.ok()) return given.status();
    length = *given;
  }
  Range range{now - length, now};
  if (has_from || has_at) {
    absl::StatusOr<absl::Time> start = ParseMoment(has_at ? flags.at : flags.from, now, zone);
    if (!start.ok()) return start.status();
    range.start = *start;
    if (has_length || has_at) range.end = *start + length;
  }
  if (has_to) {
    absl::StatusOr<absl::Time> end = ParseMoment(flags.to, now, zone);
    if (!end.ok()) return end.status();
    range.end = *end;
    if (!has_from) range.start = *end - length;
  }
  if (range.end <= range.start) {
    return absl::InvalidArgumentError(
        absl::StrFormat("time range: ends (%s) at or before its start (%s); swap --from and --to",
                        absl::FormatTime("%Y-%m-%d %H:%M:%S", range.end, zone),
                        absl::FormatTime("%Y-%m-%d %H:%M:%S", range.start, zone)));
  }
  return range;
}

std::string MomentText(double unix_s, absl::TimeZone zone, bool milliseconds) {
  const absl::Time moment = absl::FromUnixMicros(static_cast<int64_t>(std::llround(unix_s * 1e6)));
  return absl::FormatTime(milliseconds ? "%Y-%m-%d %H:%M:%E3S" : "%Y-%m-%d %H:%M:%S", moment, zone);
}

std::string ClockText(double unix_s, absl::Time now, absl::TimeZone zone) {
  const absl::Time moment = absl::FromUnixMicros(static_cast<int64_t>(std::llround(unix_s * 1e6)));
  const bool same_day = absl::CivilDay(zone.At(moment).cs) == absl::CivilDay(zone.At(now).cs);
  return absl::FormatTime(same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", moment, zone);
}

std::string ZoneText(absl::Time moment, absl::TimeZone zone) {
  const int offset_s = zone.At(moment).offset;
  if (offset_s == 0) return "UTC";
  std::string offset = absl::StrFormat("UTC%+d", offset_s / 3600);
  if (offset_s % 3600 != 0) offset += absl::StrFormat(":%02d", std::abs(offset_s) / 60 % 60);
  const std::string name = zone.name();
  return name.rfind("Fixed/", 0) == 0 ? offset : absl::StrFormat("%s, %s", name, offset);
}

std::string LengthText(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  const double size = std::abs(seconds);
  if (size >= 2 * 86400) return absl::StrFormat("%.3g d", seconds / 86400);
  if (size >= 2 * 3600) return absl::StrFormat("%.3g h", seconds / 3600);
  if (size >= 600) return absl::StrFormat("%.3g min", seconds / 60);
  if (size >= 10 || size == std::floor(size)) return absl::StrFormat("%.0f s", seconds);
  if (size >= 1) return absl::StrFormat("%.1f s", seconds);
  return absl::StrFormat("%.0f ms", seconds * 1e3);
}

}  // namespace telltale::cli
