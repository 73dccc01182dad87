#include "absl/strings/str_cat.h"
#include "proto/validate.h"

namespace telltale::proto {
namespace {

absl::Status ValidateStack(const FieldPath& at, const v1::Stack& stack, size_t frames,
                           const Limits& limits) {
  TELLTALE_RETURN_IF_ERROR(at.AtMost("length", stack.kernel_size() + stack.user_size(),
                                     limits.frames_per_stack, "limit"));
  for (const uint32_t frame : stack.kernel()) {
    if (frame >= frames) {
      return at.Refuse("kernel", frame, absl::StrCat("must be below ", frames, " (frames)"));
    }
  }
  for (const uint32_t frame : stack.user()) {
    if (frame >= frames) {
      return at.Refuse("user", frame, absl::StrCat("must be below ", frames, " (frames)"));
    }
  }
  if (stack.kernel_end() < 0)
    return at.RefuseSigned("kernel_end", stack.kernel_end(), "must not be negative");
  if (stack.user_end() < 0)
    return at.RefuseSigned("user_end", stack.user_end(), "must not be negative");
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateTables(const FieldPath& at, const v1::Tables& tables, const Limits& limits) {
  const size_t strings = tables.strings_size();
  TELLTALE_RETURN_IF_ERROR(at.AtMost("strings", strings, limits.strings, "limit"));
  for (int i = 0; i < tables.strings_size(); ++i) {
    TELLTALE_RETURN_IF_ERROR(
        FieldPath(at, "strings", i).Text("text", tables.strings(i), limits.string_bytes));
  }

  const size_t mappings = tables.mappings_size();
  TELLTALE_RETURN_IF_ERROR(at.AtMost("mappings", mappings, limits.strings, "limit"));
  for (int i = 0; i < tables.mappings_size(); ++i) {
    const FieldPath here(at, "mappings", i);
    const v1::Mapping& mapping = tables.mappings(i);
    if (mapping.kind() <= 0) return here.RefuseSigned("kind", mapping.kind(), "must be stated");
    TELLTALE_RETURN_IF_ERROR(
        here.AtMost("build_id length", mapping.build_id().size(), kBuildIdBytes, "bytes"));
    TELLTALE_RETURN_IF_ERROR(here.AtMost("path", mapping.path(), strings, "strings"));
  }

  const size_t frames = tables.frame_mapping_size();
  TELLTALE_RETURN_IF_ERROR(at.AtMost("frame_mapping", frames, limits.frames, "limit"));
  if (frames != static_cast<size_t>(tables.frame_offset_size())) {
    return at.Refuse("frame_offset", tables.frame_offset_size(),
                     absl::StrCat("must be as many as frame_mapping, ", frames));
  }
  for (int i = 0; i < tables.frame_mapping_size(); ++i) {
    TELLTALE_RETURN_IF_ERROR(
        at.AtMost("frame_mapping", tables.frame_mapping(i), mappings, "mappings"));
  }

  TELLTALE_RETURN_IF_ERROR(at.AtMost("stacks", tables.stacks_size(), limits.stacks, "limit"));
  for (int i = 0; i < tables.stacks_size(); ++i) {
    TELLTALE_RETURN_IF_ERROR(
        ValidateStack(FieldPath(at, "stacks", i), tables.stacks(i), frames, limits));
  }
  return absl::OkStatus();
}

}  // namespace telltale::proto
