// Moments as people say them: "yesterday 17:00", "last wednesday 5pm", "wed 17:05", "18 nov 5pm",
// "5pm", "noon", "2 hours ago", each with "UTC" behind it if it is not meant in the zone of the one
// who asks.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_CLI_HUMAN_TIME_H_
#define TELLTALE_COLLECTOR_CLI_HUMAN_TIME_H_

#include <optional>
#include <string>

#include "absl/time/time.h"

namespace telltale::cli {

// What is past is meant: a day of the week is the latest one that is over or, without "last", has
// begun; a time without a day the latest one; a day of a month without a year the latest one. A day
// without a time is its begin. nullopt: not one of these forms.
std::optional<absl::Time> ParseHumanMoment(const std::string& text, absl::Time now,
                                           absl::TimeZone zone);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_HUMAN_TIME_H_
