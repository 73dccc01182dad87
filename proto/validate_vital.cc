#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/schema.h"
#include "proto/validate.h"

namespace telltale::proto {
namespace {

constexpr uint32_t kMaxRows = 4;
constexpr uint32_t kMaxColumns = 1 << 16;
constexpr size_t kMaxKnobs = 1024;
constexpr size_t kMaxVitalLosses = 64;

absl::Status ValidateSub(const FieldPath& at, const v1::SubSeries& sub, size_t seconds) {
  TELLTALE_RETURN_IF_ERROR(at.AtMost("events", sub.events(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("weight", sub.weight(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("second_weight", sub.second_weight_size(), seconds, "seconds in the epoch"));
  // Rounding to 7 significant bits moves a second by at most 1/128 of itself.
  const uint64_t limit = sub.weight() + sub.weight() / 64 + seconds;
  uint64_t sum = 0;
  for (const uint64_t weight : sub.second_weight()) {
    TELLTALE_RETURN_IF_ERROR(at.AtMost("second_weight", weight, limit, "weight, rounded"));
    sum += weight;  // at most 122 terms below 2^59
    TELLTALE_RETURN_IF_ERROR(at.AtMost("sum of second_weight", sum, limit, "weight, rounded"));
  }
  return absl::OkStatus();
}

absl::Status ValidateSketch(const FieldPath& at, const v1::SketchDigest& sketch) {
  TELLTALE_RETURN_IF_ERROR(at.AtMost("rows", sketch.rows(), kMaxRows, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("columns", sketch.columns(), kMaxColumns, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("total", sketch.total(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("distinct", sketch.distinct(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("unlisted_high", sketch.unlisted_high(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("contested_samples", sketch.contested_samples(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("miss", sketch.miss_size(), 64, "bits of a weight"));
  for (const uint32_t miss : sketch.miss()) {
    TELLTALE_RETURN_IF_ERROR(at.AtMost("miss", miss, 10'000, "certain"));
  }
  TELLTALE_RETURN_IF_ERROR(at.AtMost("miss_from", sketch.miss_from(), 63, "bits of a weight"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("control_heavy", sketch.control_heavy(),
                                     sketch.control_labels(), "control_labels"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("control_heavy_missed", sketch.control_heavy_missed(),
                                     sketch.control_heavy(), "control_heavy"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("control_heavy_unlisted", sketch.control_heavy_unlisted(),
                                     sketch.control_heavy() - sketch.control_heavy_missed(),
                                     "control_heavy with samples"));
  if (sketch.load_exponents_size() != sketch.load_cells_size()) {
    return at.Refuse(
        "load_cells", sketch.load_cells_size(),
        absl::StrCat("must be as many as load_exponents, ", sketch.load_exponents_size()));
  }
  uint64_t room = uint64_t{sketch.rows()} * sketch.columns();
  for (int i = 0; i < sketch.load_exponents_size(); ++i) {
    TELLTALE_RETURN_IF_ERROR(
        at.AtMost("load_exponents", sketch.load_exponents(i), 63, "bits of a cell"));
    if (i > 0 && sketch.load_exponents(i) <= sketch.load_exponents(i - 1)) {
      return at.Refuse("load_exponents", sketch.load_exponents(i), "must be above the one before");
    }
    if (sketch.load_cells(i) == 0) return at.Refuse("load_cells", 0, "must be at least 1");
    TELLTALE_RETURN_IF_ERROR(at.AtMost("load_cells", sketch.load_cells(i), room, "cells left"));
    room -= sketch.load_cells(i);
  }
  return absl::OkStatus();
}

absl::Status ValidateKnobs(const FieldPath& at, const v1::Vital& vital, uint64_t length_ms) {
  TELLTALE_RETURN_IF_ERROR(at.AtMost("knobs", vital.knobs_size(), kMaxKnobs, "limit"));
  for (int i = 0; i < vital.knobs_size(); ++i) {
    const FieldPath here(at, "knobs", i);
    const v1::KnobChange& change = vital.knobs(i);
    if (change.knob() <= 0) return here.RefuseSigned("knob", change.knob(), "must be stated");
    TELLTALE_RETURN_IF_ERROR(
        here.AtMost("time_ms", change.time_ms(), length_ms, "length of the epoch in ms"));
  }
  return absl::OkStatus();
}

absl::Status ValidateBacklog(const FieldPath& at, const v1::Vital& vital,
                             const v1::VitalDescriptor* descriptor, size_t seconds) {
  if (descriptor != nullptr && !descriptor->has_backlog() && vital.backlog_size() != 0) {
    return at.Refuse("backlog", vital.backlog_size(), "must be empty: the vital keeps none");
  }
  TELLTALE_RETURN_IF_ERROR(at.AtMost("backlog", vital.backlog_size(), seconds, "seconds"));
  for (const int64_t value : vital.backlog()) {
    if (value > static_cast<int64_t>(kMaxTotal) || value < -static_cast<int64_t>(kMaxTotal)) {
      return at.RefuseSigned("backlog", value, absl::StrCat("beyond +-", kMaxTotal));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateVital(const FieldPath& at, const v1::Vital& vital,
                           const BodyContext& context) {
  const v1::VitalDescriptor* descriptor = nullptr;
  if (context.schema != nullptr) {
    descriptor = FindDescriptor(*context.schema, vital.id());
    if (descriptor == nullptr) return at.Refuse("id", vital.id(), "is not in the schema");
  }
  if (vital.state() <= 0) return at.RefuseSigned("state", vital.state(), "must be stated");
  const bool unavailable = vital.state() == v1::VITAL_STATE_UNAVAILABLE;
  // What was not watched has no totals: an unavailable vital is never zero.
  const size_t subs = vital.subs_size();
  TELLTALE_RETURN_IF_ERROR(at.AtMost("subs", subs, kMaxSubs, "limit"));
  if (descriptor != nullptr && subs != static_cast<size_t>(descriptor->subs_size()) &&
      !(unavailable && subs == 0)) {
    return at.Refuse("subs", subs,
                     absl::StrCat("must be as many as the schema's, ", descriptor->subs_size()));
  }
  TELLTALE_RETURN_IF_ERROR(at.AtMost("t_log2", vital.t_log2(), kMaxTLog2, "limit"));
  if (!unavailable && vital.t_log2() == 0) return at.Refuse("t_log2", 0, "must be at least 1");
  if (!unavailable && vital.quantum() == 0) return at.Refuse("quantum", 0, "must be at least 1");
  TELLTALE_RETURN_IF_ERROR(at.AtMost("quantum", vital.quantum(), kMaxTotal, "limit"));
  for (int i = 0; i < vital.subs_size(); ++i) {
    TELLTALE_RETURN_IF_ERROR(ValidateSub(FieldPath(at, "subs", i), vital.subs(i), context.seconds));
  }
  TELLTALE_RETURN_IF_ERROR(ValidateSketch(FieldPath(at, "sketch"), vital.sketch()));
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("samples", vital.samples_size(), context.limits.samples_per_vital, "limit"));
  for (int i = 0; i < vital.samples_size() && context.samples; ++i) {
    TELLTALE_RETURN_IF_ERROR(
        ValidateSample(FieldPath(at, "samples", i), vital.samples(i), subs, descriptor, context));
  }
  const FieldPath away(at, "folded_away");
  TELLTALE_RETURN_IF_ERROR(
      away.AtMost("entries", vital.folded_away().entries(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(
      away.AtMost("samples", vital.folded_away().samples(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(
      away.AtMost("sampled_weight", vital.folded_away().sampled_weight(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("unwatched_ns", vital.unwatched_ns(),
                                     context.length_ms * 1'000'000 + 1'000'000,
                                     "length of the epoch"));
  TELLTALE_RETURN_IF_ERROR(ValidateBacklog(at, vital, descriptor, context.seconds));
  TELLTALE_RETURN_IF_ERROR(ValidateKnobs(at, vital, context.length_ms));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("losses", vital.losses_size(), kMaxVitalLosses, "limit"));
  for (int i = 0; i < vital.losses_size(); ++i) {
    TELLTALE_RETURN_IF_ERROR(ValidateLoss(FieldPath(at, "losses", i), vital.losses(i)));
  }
  return absl::OkStatus();
}

}  // namespace telltale::proto
