#include "collector/query/knob_steps.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "collector/query/base_unit.h"
#include "sketch/vital_ids.h"

namespace telltale::query {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr double kPartsPerMillion = 1e6;

bool IsSwitchVital(uint32_t id) { return id == TELLTALE_SCHED_DELAY || id == TELLTALE_BLOCKING; }

std::string KnobName(v1::Knob knob) {
  switch (knob) {
    case v1::KNOB_T_LOG2:
      return "t";
    case v1::KNOB_DUTY_PPM:
      return "watched";
    case v1::KNOB_LEAST_RUN_NS:
      return "least_run";
    default:
      break;
  }
  const std::string& name = v1::Knob_Name(knob);
  constexpr size_t kPrefix = sizeof("KNOB_") - 1;
  if (name.size() <= kPrefix) return absl::StrCat("knob_", static_cast<int>(knob));
  return absl::AsciiStrToLower(name.substr(kPrefix));
}

// In base units.
double KnobValue(v1::Knob knob, uint64_t value, const v1::VitalDescriptor& vital) {
  const auto number = static_cast<double>(value);
  switch (knob) {
    case v1::KNOB_T_LOG2:
      return std::ldexp(1.0, static_cast<int>(std::min<uint64_t>(value, 64)));
    case v1::KNOB_DUTY_PPM:
      return number / kPartsPerMillion;
    case v1::KNOB_LEAST_RUN_NS:
      return Seconds(value);
    case v1::KNOB_QUANTUM:
      return number * BaseFactor(vital.unit());
    default:
      return number;
  }
}

}  // namespace

void KnobSteps::Add(const StoredEpoch& epoch, const std::string& node, const VitalBook& book,
                    const std::vector<uint32_t>& vitals) {
  struct Changed {
    double from = 0, to = 0;
    std::vector<std::string> vitals;
    bool switch_only = true;
  };
  // By time, knob and values; those of tokens differ by vital.
  std::map<std::tuple<uint32_t, v1::Knob, uint64_t, uint64_t>, Changed> all;
  for (const v1::Vital& vital : epoch.body->vitals()) {
    const v1::VitalDescriptor* descriptor = book.Find(vital.id());
    const bool asked = vitals.empty() || std::ranges::count(vitals, vital.id()) > 0;
    if (descriptor == nullptr) continue;
    for (const v1::KnobChange& change : vital.knobs()) {
      const bool tokens = change.knob() == v1::KNOB_TOKENS;
      Changed& changed = all[{change.time_ms(), change.knob(), tokens ? 0 : change.from(),
                              tokens ? 0 : change.to()}];
      // Of a step that no vital of the answer takes part in nothing is told; of one that some do,
      // who else does tells what it is.
      changed.switch_only = changed.switch_only && IsSwitchVital(vital.id());
      if (!asked) continue;
      const double from = KnobValue(change.knob(), change.from(), *descriptor);
      const double to = KnobValue(change.knob(), change.to(), *descriptor);
      changed.from = tokens ? changed.from + from : from;
      changed.to = tokens ? changed.to + to : to;
      changed.vitals.push_back(descriptor->name());
    }
  }
  for (auto& [key, changed] : all) {
    const auto& [time_ms, knob, from, to] = key;
    if (changed.vitals.empty()) continue;
    const bool waits = knob == v1::KNOB_STACKS && changed.switch_only;
    Keep({knob == v1::KNOB_T_LOG2, epoch.span.start_ns + time_ms * kNsPerMs, node,
          waits ? "waits" : KnobName(knob), changed.from, changed.to, std::move(changed.vitals)});
  }
}

void KnobSteps::Add(const KnobSteps& part) {
  for (const Step& step : part.steps_) Keep(step);
  left_out_ += part.left_out_;
}

void KnobSteps::Keep(Step step) {
  steps_.insert(std::move(step));
  if (steps_.size() <= kMost) return;
  steps_.erase(std::prev(steps_.end()));
  ++left_out_;
}

void KnobSteps::Write(v1::Coverage* coverage) const {
  std::vector<const Step*> ordered;
  for (const Step& step : steps_) ordered.push_back(&step);
  std::ranges::stable_sort(ordered, {}, &Step::time_ns);
  for (const Step* step : ordered) {
    v1::KnobStep* out = coverage->add_steps();
    out->mutable_vitals()->Assign(step->vitals.begin(), step->vitals.end());
    out->set_knob(step->knob);
    out->set_from(step->from);
    out->set_to(step->to);
    out->set_time_s(Seconds(step->time_ns));
    out->set_node(step->node);
  }
  constexpr uint64_t kMostCounted = std::numeric_limits<uint32_t>::max();
  coverage->set_steps_left_out(static_cast<uint32_t>(std::min(left_out_, kMostCounted)));
}

}  // namespace telltale::query
