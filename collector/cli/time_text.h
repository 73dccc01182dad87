// Times as people type and read them: RFC 3339, "2026-11-18 17:00" local, "17:00", "-2h", "now",
// "last wednesday 5pm" (human_time.h),
// "@1763485200"; and the four flags --from, --to, --at, --for that make a range of them.
//
// Pure functions: clock and time zone are handed in; any thread.

#ifndef TELLTALE_COLLECTOR_CLI_TIME_TEXT_H_
#define TELLTALE_COLLECTOR_CLI_TIME_TEXT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/cli/human_time.h"

namespace telltale::cli {

// A length of time: one or more numbers with unit ns us ms s m h d w, e.g. "90s", "1h30m", "1.5d".
// Positive. InvalidArgument quotes the text and shows the accepted forms.
absl::StatusOr<absl::Duration> ParseLength(const std::string& text);

// A moment. Without a zone in the text it is meant in `zone`; a bare "17:00" is the most recent
// one, or the next where what is ahead is meant.
absl::StatusOr<absl::Time> ParseMoment(const std::string& text, absl::Time now, absl::TimeZone zone,
                                       Meant meant = Meant::kPast);

struct RangeFlags {
  std::string from, to, at, length, around;  // as typed; empty: not given
};

struct Range {
  absl::Time start, end;  // [start, end)
};

// --from A [--to B | --for D] | --to B --for D | --at A [--for D, default 1 min] | --at A --around
// D (so much on both sides) | --for D | nothing. What is not given: end is now, start is `usual`
// before the end. InvalidArgument for combinations that contradict each other and for a range that
// ends before it starts.
absl::StatusOr<Range> ResolveRange(const RangeFlags& flags, absl::Time now, absl::TimeZone zone,
                                   absl::Duration usual);

// "2026-11-18 17:00:05" in `zone`; with milliseconds if asked for.
std::string MomentText(double unix_s, absl::TimeZone zone, bool milliseconds = false);

// The shortest unambiguous form beside others of one answer: "17:00:05" if on the same day as
// `now`.
std::string ClockText(double unix_s, absl::Time now, absl::TimeZone zone);

// The zone a time without one was meant in: "Europe/Berlin, UTC+1", as of that moment.
std::string ZoneText(absl::Time moment, absl::TimeZone zone);

// "58 s", "4 min", "3.2 h", "12 d": a length of time for people.
std::string LengthText(double seconds);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_TIME_TEXT_H_
