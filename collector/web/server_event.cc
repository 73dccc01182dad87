#include "collector/web/server_event.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "collector/web/http_types.h"

namespace telltale::web {

absl::Status AppendEvent(std::string_view name, std::string_view id,
                         const google::protobuf::Message& message, std::string& piece) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) {
    return absl::InternalError(absl::StrCat(message.GetTypeName(), " has no JSON form"));
  }
  const auto field = [&piece](std::string_view title, std::string_view value) {
    piece.append(title).append(": ").append(value).append("\n");
  };
  if (!id.empty()) field("id", id);
  field("event", name);
  field("data", json);
  piece += '\n';
  return absl::OkStatus();
}

void AppendProblem(const absl::Status& status, std::string& piece) {
  absl::StrAppend(&piece, "event: error\ndata: ", ErrorResponse(status).body, "\n");
}

}  // namespace telltale::web
