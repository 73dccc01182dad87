#include "proto/body_text.h"

#include <google/protobuf/wire_format_lite.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/codec.h"
#include "proto/convert.h"

namespace telltale::proto {
namespace {

std::string Protocol(uint64_t value) {
  switch (value) {  // IPPROTO_*
    case 1:
      return "icmp";
    case 6:
      return "tcp";
    case 17:
      return "udp";
    case 257:
      return "unix";
    default:
      return value >= 256 ? absl::StrCat("family ", value - 256) : absl::StrCat("protocol ", value);
  }
}

std::string EndOf(const char* part, v1::StackEnd end) {
  if (end == v1::STACK_END_NONE || end == v1::STACK_END_COMPLETE) return "";
  return absl::StrCat("(", part, " stack incomplete: ", EnumWord(end), ")");
}

}  // namespace

BodyText::BodyText(const v1::SummaryBody& body, SymbolSource symbols)
    : body_(body), symbols_(std::move(symbols)) {}

std::string BodyText::String(uint32_t index_plus_1) const {
  if (index_plus_1 == 0) return "-";
  const auto& strings = body_.tables().strings();
  if (index_plus_1 > static_cast<uint32_t>(strings.size())) return "?";
  return SanitizeText(strings.Get(static_cast<int>(index_plus_1) - 1), kShownBytes);
}

std::string BodyText::Frame(uint32_t index) const {
  const v1::Tables& tables = body_.tables();
  if (index >= static_cast<uint32_t>(tables.frame_mapping_size()) ||
      index >= static_cast<uint32_t>(tables.frame_offset_size())) {
    return "?";
  }
  const uint64_t offset = tables.frame_offset(static_cast<int>(index));
  const uint32_t mapping_index = tables.frame_mapping(static_cast<int>(index));
  if (mapping_index == 0) return absl::StrFormat("0x%x", offset);
  if (mapping_index > static_cast<uint32_t>(tables.mappings_size())) return "?";
  const v1::Mapping& mapping = tables.mappings(static_cast<int>(mapping_index) - 1);
  std::string place = mapping.path() != 0 ? String(mapping.path())
                                          : absl::StrCat("[", EnumWord(mapping.kind()), "]");
  const std::string symbol = symbols_ ? SanitizeText(symbols_(mapping, offset), kShownBytes) : "";
  if (symbol.empty()) return absl::StrFormat("%s+0x%x", place, offset);
  return absl::StrCat(symbol, " ", mapping.path() != 0 ? absl::StrCat("(", place, ")") : place);
}

std::vector<std::string> BodyText::Stack(uint32_t index_plus_1) const {
  if (index_plus_1 == 0) return {};
  if (index_plus_1 > static_cast<uint32_t>(body_.tables().stacks_size())) return {"?"};
  const v1::Stack& stack = body_.tables().stacks(static_cast<int>(index_plus_1) - 1);
  std::vector<std::string> lines;
  for (const uint32_t frame : stack.kernel()) lines.push_back(Frame(frame));
  if (std::string end = EndOf("kernel", stack.kernel_end()); !end.empty()) lines.push_back(end);
  for (const uint32_t frame : stack.user()) lines.push_back(Frame(frame));
  if (std::string end = EndOf("user", stack.user_end()); !end.empty()) lines.push_back(end);
  return lines;
}

std::string BodyText::Value(const v1::FieldDescriptor& field, uint64_t value) const {
  switch (field.kind()) {
    case v1::FIELD_KIND_SIGNED:
      return absl::StrCat(google::protobuf::internal::WireFormatLite::ZigZagDecode64(value));
    case v1::FIELD_KIND_IP:
      return value == 0 ? "-" : value > UINT32_MAX ? "?" : Frame(static_cast<uint32_t>(value - 1));
    case v1::FIELD_KIND_SYSCALL:
      return value == 0 ? "-" : absl::StrCat("#", value - 1);
    case v1::FIELD_KIND_DEVICE:  // dev_t: 12 bits major, 20 bits minor
      return absl::StrCat(value >> 20, ":", value & 0xfffff);
    case v1::FIELD_KIND_PROTOCOL:
      return Protocol(value);
    case v1::FIELD_KIND_BYTES:
      return ShowBytes(value);
    case v1::FIELD_KIND_NANOSECONDS:
      return ShowDuration(value);
    case v1::FIELD_KIND_GFP:
    case v1::FIELD_KIND_HEX:
    case v1::FIELD_KIND_STACK_POINTER:
      return absl::StrFormat("0x%x", value);
    case v1::FIELD_KIND_ENUM:
      return value < static_cast<uint64_t>(field.value_names_size())
                 ? SanitizeText(field.value_names(static_cast<int>(value)), kShownBytes)
                 : absl::StrCat(value);
    case v1::FIELD_KIND_STRING:
    case v1::FIELD_KIND_ADDRESS:
      return value > UINT32_MAX ? "?" : String(static_cast<uint32_t>(value));
    default:
      return absl::StrCat(value);
  }
}

}  // namespace telltale::proto
