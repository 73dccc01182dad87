#include "collector/query/knob_steps.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <iterator>
#include <limits>
#include <map>
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

// What one step of the governor is told apart by.
struct StepKey {
  uint32_t time_ms = 0;  // since the epoch's start
  v1::Knob knob = v1::KNOB_UNSPECIFIED;
  uint64_t from = 0, to = 0;             // 0 of tokens, which differ by vital and are added
  v1::Unit unit = v1::UNIT_UNSPECIFIED;  // of a quantum: 16 pages are not 16 calls
  uint32_t alike_before = 0;             // changes of the same vital that are the same but for this
  auto operator<=>(const StepKey&) const = default;
};

StepKey StepKeyOf(const v1::KnobChange& change, const v1::VitalDescriptor* vital) {
  StepKey key{.time_ms = change.time_ms(), .knob = change.knob()};
  if (key.knob != v1::KNOB_TOKENS) {
    key.from = change.from();
    key.to = change.to();
  }
  if (key.knob == v1::KNOB_QUANTUM && vital != nullptr) key.unit = vital->unit();
  return key;
}

// Agents before KNOB_WAITS call what is done to switches stacks too, of the vitals of switches
// alone; what is done to user stacks they say of every vital. So who else changed tells which it
// is, where another vital was read at all: of an answer about waits none may be. Where a vital has
// the same change twice at one moment, both parts went the same way, and the second is that of the
// switches.
bool IsOfWaits(const StepKey& key, bool switches_alone, bool others_read) {
  return key.knob == v1::KNOB_STACKS && switches_alone && (others_read || key.alike_before > 0);
}

}  // namespace

void KnobSteps::Add(const StoredEpoch& epoch, const std::string& node, const VitalBook& book,
                    const std::vector<uint32_t>& vitals) {
  struct Changed {
    double from = 0, to = 0;
    std::vector<std::string> vitals;
    bool switches_alone = true;
  };
  const auto time_of = [&](uint32_t time_ms) { return epoch.span.start_ns + time_ms * kNsPerMs; };
  std::map<StepKey, Changed> all;
  bool others_read = false;
  for (const v1::Vital& vital : epoch.body->vitals()) {
    const v1::VitalDescriptor* descriptor = book.Find(vital.id());
    const bool asked = vitals.empty() || std::ranges::count(vitals, vital.id()) > 0;
    others_read =
        others_read || (!IsSwitchVital(vital.id()) && vital.state() != v1::VITAL_STATE_UNAVAILABLE);
    std::map<StepKey, uint32_t> alike;
    for (const v1::KnobChange& change : vital.knobs()) {
      const uint64_t time_ns = time_of(change.time_ms());
      if (time_ns < start_ns_ || time_ns >= end_ns_) continue;
      StepKey key = StepKeyOf(change, descriptor);
      key.alike_before = alike[key]++;
      // Of a step that no vital of the answer takes part in nothing is told; of one that some do,
      // who else does tells what it is.
      Changed& changed = all[key];
      changed.switches_alone = changed.switches_alone && IsSwitchVital(vital.id());
      if (!asked || descriptor == nullptr) continue;
      const bool adds = key.knob == v1::KNOB_TOKENS;
      const double from = KnobValue(key.knob, change.from(), *descriptor);
      const double to = KnobValue(key.knob, change.to(), *descriptor);
      changed.from = adds ? changed.from + from : from;
      changed.to = adds ? changed.to + to : to;
      changed.vitals.push_back(descriptor->name());
    }
  }
  for (auto& [key, changed] : all) {
    // Agents told of steps of tokens also where these were at their floor and stayed there.
    if (changed.vitals.empty() || changed.from == changed.to) continue;
    const v1::Knob knob =
        IsOfWaits(key, changed.switches_alone, others_read) ? v1::KNOB_WAITS : key.knob;
    Keep({knob == v1::KNOB_T_LOG2, time_of(key.time_ms), node, KnobName(knob), changed.from,
          changed.to, std::move(changed.vitals)});
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
