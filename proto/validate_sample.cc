#include "absl/strings/str_cat.h"
#include "proto/validate.h"
#include "sketch/time_units.h"

namespace telltale::proto {
namespace {

// One value of a label or detail, by the kind the schema gives it. Kinds that are plain numbers,
// and kinds this build does not know, are shown as numbers and need no check.
absl::Status ValidateValue(const FieldPath& at, const v1::FieldDescriptor& field, uint64_t value,
                           const BodyContext& context) {
  const char* const name = field.name().c_str();
  switch (field.kind()) {
    case v1::FIELD_KIND_IP:
      return at.AtMost(name, value, context.frames, "frames");
    case v1::FIELD_KIND_STRING:
    case v1::FIELD_KIND_ADDRESS:
      return at.AtMost(name, value, context.strings, "strings");
    case v1::FIELD_KIND_ENUM:
      if (value >= static_cast<uint64_t>(field.value_names_size())) {
        return at.Refuse(name, value,
                         absl::StrCat("must be below ", field.value_names_size(), " (names)"));
      }
      return absl::OkStatus();
    case v1::FIELD_KIND_PID:
      return at.AtMost(name, value, UINT32_MAX, "a process id");
    case v1::FIELD_KIND_PORT:
      return at.AtMost(name, value, UINT16_MAX, "a port");
    case v1::FIELD_KIND_ORDER:
      return at.AtMost(name, value, 63, "a page order");
    default:
      return absl::OkStatus();
  }
}

template <typename Values, typename Fields>
absl::Status ValidateValues(const FieldPath& at, const char* name, const Values& values,
                            const Fields* fields, const BodyContext& context) {
  TELLTALE_RETURN_IF_ERROR(at.AtMost(name, values.size(), kMaxFields, "limit"));
  if (fields == nullptr) return absl::OkStatus();
  if (values.size() != fields->size()) {
    return at.Refuse(name, values.size(),
                     absl::StrCat("must be as many as the schema's, ", fields->size()));
  }
  const FieldPath here(at, name);
  for (int i = 0; i < values.size(); ++i) {
    TELLTALE_RETURN_IF_ERROR(ValidateValue(here, fields->Get(i), values.Get(i), context));
  }
  return absl::OkStatus();
}

absl::Status ValidatePeer(const FieldPath& at, const v1::Peer& peer, const BodyContext& context) {
  TELLTALE_RETURN_IF_ERROR(at.AtMost("comm", peer.comm(), context.strings, "strings"));
  return at.AtMost("stack", peer.stack(), context.stacks, "stacks");
}

absl::Status ValidateExemplar(const FieldPath& at, const v1::Sample& sample,
                              const v1::VitalDescriptor* descriptor, const BodyContext& context) {
  TELLTALE_RETURN_IF_ERROR(at.AtMost("time_ns", sample.time_ns(), context.length_ms * kNsPerMs,
                                     "length of the epoch in ns"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("comm", sample.comm(), context.strings, "strings"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("cgroup", sample.cgroup(), context.strings, "strings"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("wait_site", sample.wait_site(), context.strings, "strings"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("weight", sample.weight(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("cell_after", sample.cell_after(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("cell_before", sample.cell_before(), sample.cell_after(), "cell_after"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("t_log2", sample.t_log2(), kMaxTLog2, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("duty_ppm", sample.duty_ppm(), kAlwaysPpm, "always on"));
  TELLTALE_RETURN_IF_ERROR(ValidateValues(at, "detail", sample.detail(),
                                          descriptor != nullptr ? &descriptor->detail() : nullptr,
                                          context));
  TELLTALE_RETURN_IF_ERROR(
      ValidatePeer(FieldPath(at, "ran_instead"), sample.ran_instead(), context));
  TELLTALE_RETURN_IF_ERROR(ValidatePeer(FieldPath(at, "waker"), sample.waker(), context));
  return ValidatePeer(FieldPath(at, "holder"), sample.holder(), context);
}

}  // namespace

absl::Status ValidateSample(const FieldPath& at, const v1::FoldedSample& sample, size_t subs,
                            const v1::VitalDescriptor* descriptor, const BodyContext& context) {
  TELLTALE_RETURN_IF_ERROR(at.AtMost("exe", sample.exe(), context.strings, "strings"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("stack", sample.stack(), context.stacks, "stacks"));
  if (sample.sub() >= subs) {
    return at.Refuse("sub", sample.sub(), absl::StrCat("must be below ", subs, " (sub-series)"));
  }
  if (sample.samples() == 0) return at.Refuse("samples", 0, "must be at least 1");
  TELLTALE_RETURN_IF_ERROR(at.AtMost("samples", sample.samples(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("sampled_weight", sample.sampled_weight(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("high", sample.high(), kMaxTotal, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("low", sample.low(), sample.high(), "high"));
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("last_ms", sample.last_ms(), context.length_ms, "length of the epoch in ms"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("first_ms", sample.first_ms(), sample.last_ms(), "last_ms"));
  if (!sample.has_exemplar()) return at.Refuse("exemplar", 0, "must be present");
  TELLTALE_RETURN_IF_ERROR(ValidateValues(at, "label", sample.label(),
                                          descriptor != nullptr ? &descriptor->label() : nullptr,
                                          context));
  return ValidateExemplar(FieldPath(at, "exemplar"), sample.exemplar(), descriptor, context);
}

}  // namespace telltale::proto
