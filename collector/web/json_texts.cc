#include "collector/web/json_texts.h"

#include <google/protobuf/util/json_util.h>

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"

namespace telltale::web {
namespace {

using google::protobuf::Message;

constexpr size_t kLarge = 8 << 10;  // what is smaller is printed in less than a millisecond

absl::StatusOr<std::string> Print(const Message& answer) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(answer, &text, options).ok()) {
    return absl::InternalError(absl::StrCat("answer: ", answer.GetTypeName(), " has no JSON form"));
  }
  text += '\n';
  return text;
}

}  // namespace

absl::StatusOr<std::string> JsonTexts::KeptOr(
    const Message& type, const std::string& answer,
    const std::function<absl::StatusOr<std::string>()>& print) {
  if (answer.size() < kLarge) return print();
  const std::string key = absl::StrCat(type.GetTypeName(), ":", answer);
  if (const auto kept = kept_.Find(key, 0, [](const query::AnswerBasis&) { return uint64_t{0}; })) {
    return *kept;
  }
  absl::StatusOr<std::string> text = print();
  if (text.ok()) kept_.Keep(key, *text, {.expires_ns = UINT64_MAX});
  return text;
}

absl::StatusOr<std::string> JsonTexts::Of(const Message& answer) {
  return KeptOr(answer, answer.SerializeAsString(), [&answer] { return Print(answer); });
}

absl::StatusOr<std::string> JsonTexts::OfBytes(const Message& type, const std::string& answer) {
  return KeptOr(type, answer, [&]() -> absl::StatusOr<std::string> {
    const std::unique_ptr<Message> read(type.New());
    if (!read->ParseFromString(answer)) {
      return absl::InternalError(
          absl::StrCat("answer: its bytes are not those of a ", type.GetTypeName()));
    }
    return Print(*read);
  });
}

}  // namespace telltale::web
