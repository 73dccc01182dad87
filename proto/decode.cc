#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "proto/columns.h"
#include "proto/compress.h"
#include "proto/message_count.h"
#include "proto/validate.h"

namespace telltale::proto {
namespace {

struct Part {
  const char* field;
  const std::string& bytes;
  size_t limit;          // of bytes
  size_t stated;         // length when opened
  size_t raw_limit;      // of that
  size_t objects;        // messages and strings in that; 0: they were counted before
  bool columns = false;  // compressed are its columns
};

// From compressed bytes to a message's, each step bounded by the one before. Of columns those that
// `wants` and `wants_message` leave out are none of it.
absl::StatusOr<std::string> Unpack(const Part& part, const WantsField& wants = {},
                                   const WantsMessage& wants_message = {}) {
  TELLTALE_RETURN_IF_ERROR(
      FieldPath("summary").AtMost(part.field, part.bytes.size(), part.limit, "bytes"));
  if (!part.columns) return Decompress(part.field, part.bytes, part.stated, part.raw_limit);
  if (part.stated > part.raw_limit) {
    return FieldPath("summary").Refuse(part.field, part.stated,
                                       absl::StrCat("bytes when opened, limit ", part.raw_limit));
  }
  const absl::StatusOr<std::string> columns =
      DecompressWhole(part.field, part.bytes, part.raw_limit);
  if (!columns.ok()) return columns.status();
  absl::StatusOr<std::string> message = FromColumns(*columns, part.stated, wants, wants_message);
  if (message.ok() && wants == nullptr && message->size() != part.stated) {
    return absl::InvalidArgumentError(absl::StrCat("summary: ", part.field, " is ", message->size(),
                                                   " bytes, its envelope says ", part.stated));
  }
  return message;
}

// And to a parsed one.
absl::Status Open(const Part& part, google::protobuf::Message& out) {
  const FieldPath root("summary");
  const absl::StatusOr<std::string> raw = Unpack(part);
  if (!raw.ok()) return raw.status();
  if (part.objects != 0) {
    const absl::StatusOr<size_t> count = CountObjects(*raw, *out.GetDescriptor(), part.objects);
    if (!count.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("summary: ", part.field, ": ", count.status().message()));
    }
    TELLTALE_RETURN_IF_ERROR(
        FieldPath(root, part.field).AtMost("messages and strings", *count, part.objects, "limit"));
  }
  if (!out.ParseFromString(*raw)) {
    return absl::InvalidArgumentError(absl::StrCat("summary: ", part.field, " of ", raw->size(),
                                                   " bytes is no ", out.GetTypeName()));
  }
  return absl::OkStatus();
}

Part BodyOf(const v1::Summary& summary, const Limits& limits, size_t objects) {
  return {"body",
          summary.body(),
          limits.body_bytes,
          summary.body_bytes(),
          limits.body_raw_bytes,
          objects,
          summary.format() == kColumnsFormat};
}

absl::Status CheckEnvelope(const v1::Summary& summary, const v1::Schema& schema) {
  const FieldPath root("summary");
  TELLTALE_RETURN_IF_ERROR(ValidateIdentity(FieldPath(root, "identity"), summary.identity()));
  if (summary.format() != kBodyFormat && summary.format() != kColumnsFormat) {
    return root.Refuse(
        "format", summary.format(),
        absl::StrCat("this build reads only ", kBodyFormat, " and ", kColumnsFormat));
  }
  if (summary.schema_id() != schema.id()) {
    return root.Refuse("schema_id", summary.schema_id(),
                       absl::StrCat("the schema given has id ", schema.id()));
  }
  return absl::OkStatus();
}

absl::Status CheckSpan(const v1::Summary& summary, const v1::Epoch& epoch) {
  const FieldPath root("summary");
  if (summary.start_unix_ns() != epoch.start_unix_ns()) {
    return root.Refuse("start_unix_ns", summary.start_unix_ns(),
                       absl::StrCat("its body says ", epoch.start_unix_ns()));
  }
  if (summary.end_unix_ns() != epoch.end_unix_ns()) {
    return root.Refuse("end_unix_ns", summary.end_unix_ns(),
                       absl::StrCat("its body says ", epoch.end_unix_ns()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Decoded> DecodeBody(const v1::Summary& summary, const v1::Schema& schema,
                                   const Limits& limits, size_t objects) {
  TELLTALE_RETURN_IF_ERROR(CheckEnvelope(summary, schema));
  Decoded decoded;
  TELLTALE_RETURN_IF_ERROR(Open(BodyOf(summary, limits, objects), *decoded.body));
  TELLTALE_RETURN_IF_ERROR(ValidateBody(*decoded.body, &schema, limits));
  TELLTALE_RETURN_IF_ERROR(CheckSpan(summary, decoded.body->epoch()));
  const FieldPath root("summary");
  TELLTALE_RETURN_IF_ERROR(
      root.AtMost("cells", summary.cells().size(), limits.cells_bytes, "bytes"));
  TELLTALE_RETURN_IF_ERROR(
      root.AtMost("cells_bytes", summary.cells_bytes(), limits.cells_raw_bytes, "limit"));
  return decoded;
}

}  // namespace

absl::StatusOr<Decoded> DecodeSummary(const v1::Summary& summary, const v1::Schema& schema,
                                      const Limits& limits) {
  return DecodeBody(summary, schema, limits, limits.objects);
}

absl::StatusOr<Decoded> DecodeParts(const v1::Summary& summary, const v1::Schema& schema,
                                    const BodyParts& parts, const Limits& limits) {
  if (parts.depth == BodyParts::Depth::kWhole) return DecodeBody(summary, schema, limits, 0);
  TELLTALE_RETURN_IF_ERROR(CheckEnvelope(summary, schema));
  const auto needs = [&](const std::vector<int>& path) { return NeedsField(parts, path); };
  const auto needs_message = [&](int field, uint64_t id) {
    return field != v1::SummaryBody::kVitalsFieldNumber || NeedsVital(parts, id);
  };
  const Part body = BodyOf(summary, limits, 0);
  absl::StatusOr<std::string> raw = Unpack(body, needs, needs_message);
  // Columns are opened without the rest.
  if (raw.ok() && !body.columns) raw = KeepParts(*raw, parts);
  if (!raw.ok()) return raw.status();
  Decoded decoded;
  if (!decoded.body->ParseFromString(*raw)) {
    return absl::InvalidArgumentError(
        absl::StrCat("summary: body of ", raw->size(), " bytes is no summary body"));
  }
  const bool samples = parts.depth == BodyParts::Depth::kLabels;
  TELLTALE_RETURN_IF_ERROR(ValidateBody(*decoded.body, &schema, limits, samples));
  TELLTALE_RETURN_IF_ERROR(CheckSpan(summary, decoded.body->epoch()));
  return decoded;
}

absl::StatusOr<v1::SketchCells> DecodeCells(const v1::Summary& summary, const Limits& limits) {
  v1::SketchCells cells;
  if (summary.cells().empty()) {
    if (summary.cells_bytes() != 0) {
      return FieldPath("summary").Refuse("cells_bytes", summary.cells_bytes(),
                                         "but there are no cells");
    }
    return cells;
  }
  TELLTALE_RETURN_IF_ERROR(Open({"cells", summary.cells(), limits.cells_bytes,
                                 summary.cells_bytes(), limits.cells_raw_bytes, limits.objects},
                                cells));
  TELLTALE_RETURN_IF_ERROR(ValidateCells(cells));
  return cells;
}

}  // namespace telltale::proto
