#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "proto/columns.h"
#include "proto/compress.h"
#include "proto/message_count.h"
#include "proto/validate.h"

namespace telltale::proto {
namespace {

struct Packed {
  std::string bytes;
  size_t raw = 0;
};

// ResourceExhausted tells the caller to fold harder and try again.
absl::StatusOr<Packed> Pack(const char* what, const google::protobuf::Message& message,
                            size_t raw_limit, size_t limit, size_t objects) {
  const std::string raw = Canonical(message);
  if (raw.size() > raw_limit) {
    return absl::ResourceExhaustedError(absl::StrCat("summary: ", what, " is ", raw.size(),
                                                     " bytes before compression, limit ", raw_limit,
                                                     "; fold more away"));
  }
  const absl::StatusOr<size_t> count = CountObjects(raw, *message.GetDescriptor(), objects);
  if (!count.ok()) return count.status();
  if (*count > objects) {
    return absl::ResourceExhaustedError(absl::StrCat("summary: ", what, " has more than ", objects,
                                                     " messages and strings; fold more away"));
  }
  absl::StatusOr<std::string> bytes = Compress(raw);
  if (!bytes.ok()) return bytes.status();
  if (bytes->size() > limit) {
    return absl::ResourceExhaustedError(absl::StrCat("summary: ", what, " is ", bytes->size(),
                                                     " bytes compressed, limit ", limit,
                                                     "; fold more away"));
  }
  return Packed{*std::move(bytes), raw.size()};
}

}  // namespace

absl::StatusOr<v1::Summary> EncodeSummary(const v1::Identity& identity, uint64_t schema_id,
                                          const v1::SummaryBody& body, const v1::SketchCells& cells,
                                          const Limits& limits) {
  TELLTALE_RETURN_IF_ERROR(ValidateIdentity(FieldPath(FieldPath("summary"), "identity"), identity));
  const v1::Schema builtin = BuiltinSchema();
  TELLTALE_RETURN_IF_ERROR(
      ValidateBody(body, schema_id == builtin.id() ? &builtin : nullptr, limits));
  TELLTALE_RETURN_IF_ERROR(ValidateCells(cells));

  absl::StatusOr<Packed> packed_body =
      Pack("body", body, limits.body_raw_bytes, limits.body_bytes, limits.objects);
  if (!packed_body.ok()) return packed_body.status();

  v1::Summary summary;
  *summary.mutable_identity() = identity;
  summary.set_format(kBodyFormat);
  summary.set_schema_id(schema_id);
  summary.set_start_unix_ns(body.epoch().start_unix_ns());
  summary.set_end_unix_ns(body.epoch().end_unix_ns());
  summary.set_body_bytes(static_cast<uint32_t>(packed_body->raw));
  summary.set_body(std::move(packed_body->bytes));
  if (cells.vitals_size() != 0) {
    absl::StatusOr<Packed> packed_cells =
        Pack("cells", cells, limits.cells_raw_bytes, limits.cells_bytes, limits.objects);
    if (!packed_cells.ok()) return packed_cells.status();
    summary.set_cells_bytes(static_cast<uint32_t>(packed_cells->raw));
    summary.set_cells(std::move(packed_cells->bytes));
  }
  return summary;
}

std::optional<v1::Summary> WithColumns(const v1::Summary& summary, const v1::SummaryBody& body) {
  const std::string canonical = Canonical(body);
  const std::optional<std::string> columns = ToColumns(canonical, *body.GetDescriptor());
  if (!columns) return std::nullopt;
  absl::StatusOr<std::string> packed = Compress(*columns, Effort::kStore);
  if (!packed.ok() || packed->size() >= summary.body().size()) return std::nullopt;
  v1::Summary stored;
  *stored.mutable_identity() = summary.identity();
  stored.set_format(kColumnsFormat);
  stored.set_schema_id(summary.schema_id());
  stored.set_start_unix_ns(summary.start_unix_ns());
  stored.set_end_unix_ns(summary.end_unix_ns());
  stored.set_body_bytes(static_cast<uint32_t>(canonical.size()));
  stored.set_body(*std::move(packed));
  return stored;
}

}  // namespace telltale::proto
