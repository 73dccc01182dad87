#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

// By name as long as they fit a line; so many of them are the whole sensor.
constexpr int kNamedVitals = 4;

// "1/8", "all".
std::string PartOfTime(double share) {
  if (!(share > 0)) return "none";
  return share >= 1 ? "all" : absl::StrFormat("1/%.0f", 1 / share);
}

std::string StacksText(double level) {
  if (level >= 2) return "user stacks as long as configured";
  return level >= 1 ? "short user stacks" : "no user stacks";
}

std::string WaitsText(double level) {
  if (level >= 2) return "switches watched with stacks and wakers";
  return level >= 1 ? "no stacks of waits and no wakers" : "switches only counted";
}

std::string LeastRunText(double seconds) {
  if (seconds <= 0) return "all tasks followed";
  return absl::StrCat("tasks that have run for less than ", Quantity(seconds, "s"),
                      " not followed");
}

// What holds since the step, and what held before it.
std::string StepText(const v1::KnobStep& step) {
  const std::string& knob = step.knob();
  const auto changed = [](const std::string& to, const std::string& from) {
    return absl::StrCat(to, ", before ", from);
  };
  if (knob == "watched") {
    return changed(absl::StrCat("watched ", PartOfTime(step.to()), " of the time"),
                   absl::StrCat(PartOfTime(step.from()), " of it"));
  }
  if (knob == "t") return changed(absl::StrCat("t is ", Count(step.to())), Count(step.from()));
  if (knob == "tokens") {
    return changed(absl::StrCat(Plural(step.to(), "sample"), " a second at most"),
                   Count(step.from()));
  }
  if (knob == "stacks") return changed(StacksText(step.to()), StacksText(step.from()));
  if (knob == "waits") return changed(WaitsText(step.to()), WaitsText(step.from()));
  if (knob == "least_run") return changed(LeastRunText(step.to()), LeastRunText(step.from()));
  if (knob == "attached") return step.to() > 0 ? "the sensor is back" : "the sensor is taken off";
  return changed(absl::StrCat(Escaped(knob), " ", Count(step.to())), Count(step.from()));
}

std::string VitalsText(const v1::KnobStep& step) {
  if (step.vitals_size() > kNamedVitals) return Plural(step.vitals_size(), "vital");
  return Escaped(absl::StrJoin(step.vitals(), ", "));
}

}  // namespace

std::string RenderSteps(const v1::Coverage& coverage, const View& view) {
  if (coverage.steps().empty()) return "";
  std::string out = "turned down, or up again, to stay within the agent's budget\n";
  for (const v1::KnobStep& step : coverage.steps()) {
    absl::StrAppend(&out, "  ", ClockText(step.time_s(), view.now, view.zone), " ",
                    coverage.nodes_selected() > 1 ? absl::StrCat(Escaped(step.node()), " ") : "",
                    VitalsText(step), ": ", StepText(step), "\n");
  }
  if (coverage.steps_left_out() > 0) {
    absl::StrAppend(&out, "  and ", Plural(coverage.steps_left_out(), "more step"),
                    "; ask for a shorter time to see them\n");
  }
  return out;
}

}  // namespace telltale::cli
