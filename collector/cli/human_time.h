// Moments as people say them: "yesterday 17:00", "last wednesday 5pm", "wed 17:05", "18 nov 5pm",
// "5pm", "noon", "tomorrow 6:00", "2 hours ago", each with "UTC" behind it if it is not meant in
// the zone of the one who asks.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_CLI_HUMAN_TIME_H_
#define TELLTALE_COLLECTOR_CLI_HUMAN_TIME_H_

#include <optional>
#include <string>

#include "absl/time/time.h"

namespace telltale::cli {

// Which of the moments a text may mean: of a "17:00" without a day the latest one or the next.
enum class Meant { kPast, kAhead };

// Where what is past is meant: a day of the week is the latest one that is over or, without "last",
// has begun; a time without a day the latest one; a day of a month without a year the latest one. A
// day without a time is its begin. Where what is ahead is meant, of each the next one. nullopt: not
// one of these forms.
std::optional<absl::Time> ParseHumanMoment(const std::string& text, absl::Time now,
                                           absl::TimeZone zone, Meant meant);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_HUMAN_TIME_H_
