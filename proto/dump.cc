#include "proto/dump.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/body_text.h"
#include "proto/codec.h"
#include "proto/convert.h"
#include "proto/schema.h"

namespace telltale::proto {
namespace {

std::string Clean(const std::string& text) { return SanitizeText(text, kShownBytes); }

std::string Fields(const google::protobuf::RepeatedPtrField<v1::FieldDescriptor>& fields) {
  std::string text;
  for (const v1::FieldDescriptor& field : fields) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", Clean(field.name()), " (",
                    EnumWord(field.kind()), ")");
  }
  return text.empty() ? "-" : text;
}

}  // namespace

std::string DumpEnvelope(const v1::Summary& summary) {
  const v1::Identity& identity = summary.identity();
  return absl::StrCat(
      "summary of ", Clean(identity.node()), ", sequence ", identity.sequence(), ", incarnation ",
      ShowHex(identity.incarnation()), "\n  from ", ShowTime(summary.start_unix_ns()), " to ",
      ShowTime(summary.end_unix_ns()), "\n  format ", summary.format(), ", schema ",
      absl::StrFormat("%016x", summary.schema_id()), ", digest ",
      absl::StrFormat("%016x", Digest(summary)), "\n  body ", ShowNumber(summary.body().size()),
      " bytes, opens to ", ShowNumber(summary.body_bytes()), "; cells ",
      ShowNumber(summary.cells().size()), " bytes, open to ", ShowNumber(summary.cells_bytes()),
      "\n");
}

std::string DumpCells(const v1::SketchCells& cells, const v1::Schema& schema) {
  std::string text = absl::StrFormat("sketch cells, seed id %016x\n", cells.seed_id());
  for (const v1::SketchCells::One& one : cells.vitals()) {
    const v1::VitalDescriptor* descriptor = FindDescriptor(schema, one.vital());
    uint64_t used = 0, largest = 0;
    for (const uint64_t cell : one.cells()) {
      used += cell != 0 ? 1 : 0;
      largest = std::max(largest, cell);
    }
    const v1::Unit unit = descriptor != nullptr ? descriptor->unit() : v1::UNIT_UNSPECIFIED;
    absl::StrAppend(
        &text, "  ",
        descriptor != nullptr ? Clean(descriptor->name()) : absl::StrCat("vital ", one.vital()),
        ": ", used, " of ", one.cells_size(), " cells used, largest ", ShowWeight(unit, largest),
        "\n   ");
    for (const uint64_t cell : one.cells()) absl::StrAppend(&text, " ", cell);
    text += "\n";
    if (one.contested().empty()) continue;
    text += "    contested";
    for (const uint64_t weight : one.contested()) absl::StrAppend(&text, " ", weight);
    text += "\n    greatest margin";
    for (const uint64_t weight : one.greatest_margin()) absl::StrAppend(&text, " ", weight);
    text += "\n";
  }
  return text;
}

std::string DumpSchema(const v1::Schema& schema) {
  std::string text = absl::StrFormat("schema %016x\n", schema.id());
  for (const v1::VitalDescriptor& vital : schema.vitals()) {
    absl::StrAppend(&text, "  ", vital.id(), " ", Clean(vital.name()), " (", EnumWord(vital.unit()),
                    "): ", Clean(vital.about()), "\n    quantum ",
                    ShowWeight(vital.unit(), vital.quantum()), "; sub-series");
    for (const v1::SubDescriptor& sub : vital.subs()) {
      absl::StrAppend(&text, " ", Clean(sub.name()), sub.idle() ? " (idle)" : "");
    }
    absl::StrAppend(&text, "\n    label exe, uid, ", Fields(vital.label()), "\n    detail ",
                    Fields(vital.detail()), "\n");
  }
  return text;
}

std::string DumpNames(const v1::Names& names) {
  std::string text = absl::StrCat("names of ", Clean(names.path()), " (", EnumWord(names.kind()),
                                  "), build id ", ShowHex(names.build_id()), "\n");
  for (int i = 0; i < std::min(names.offset_size(), names.name_size()); ++i) {
    absl::StrAppend(&text, absl::StrFormat("  0x%x ", names.offset(i)), Clean(names.name(i)), "\n");
  }
  return text;
}

absl::StatusOr<std::string> DumpJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dump: ", message.GetTypeName(), " as JSON: ", std::string(status.message())));
  }
  return json;
}

}  // namespace telltale::proto
