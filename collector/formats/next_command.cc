#include "collector/formats/next_command.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/formats/shell_word.h"

namespace telltale::formats {
namespace {

constexpr double kLeastS = 60, kMostS = 3600;
// Of events, what came shortly before is part of the story.
constexpr double kBeforeEventsS = 60;

std::string Moment(double unix_s) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(std::llround(unix_s)),
                          absl::UTCTimeZone());
}

bool Names(const std::string& command, const char* flag) {
  return absl::StrContains(absl::StrCat(command, " "), absl::StrCat(" ", flag, " ")) ||
         absl::StrContains(command, absl::StrCat(" ", flag, "="));
}

}  // namespace

std::string CompletedCommand(const std::string& command, const std::string& node, double start_s,
                             double end_s) {
  static constexpr std::array kOfTime = {"diff",    "events", "flame",  "histogram", "host",
                                         "samples", "series", "stacks", "top"};
  const auto is = [&](const char* name) {
    return absl::StartsWith(absl::StrCat(command, " "), absl::StrCat("telltale ", name, " "));
  };
  if (std::none_of(kOfTime.begin(), kOfTime.end(), is)) return command;
  std::string out = command;
  if (!node.empty() && !Names(command, "--node")) absl::StrAppend(&out, " --node ", Quoted(node));
  if (Names(command, "--from") || Names(command, "--at") || Names(command, "--to")) return out;
  const double begin = std::floor(start_s) - (is("events") ? kBeforeEventsS : 0);
  const double end =
      std::clamp(std::ceil(end_s), std::floor(start_s) + kLeastS, std::floor(start_s) + kMostS);
  return absl::StrCat(out, " --from ", Moment(begin), " --to ", Moment(end));
}

}  // namespace telltale::formats
