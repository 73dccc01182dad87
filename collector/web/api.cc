#include "collector/web/api.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "collector/formats/export.h"

namespace telltale::web {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kBinary[] = "application/x-protobuf";
constexpr char kFormat[] = "format", kJson[] = "json";
constexpr int kMaxPathDepth = 8;
constexpr size_t kMaxShownBytes = 64;

absl::Status Wants(const std::string& path, const std::string& value, const std::string& wanted) {
  return absl::InvalidArgumentError(absl::StrCat(
      "parameter ", path, ": \"", value.substr(0, kMaxShownBytes), "\" is not ", wanted));
}

// "json" if none is asked for.
std::string FormatOf(const Request& http) {
  std::string format = kJson;
  for (const auto& [name, value] : http.query) {
    if (name == kFormat) format = value;
  }
  return format;
}

// All that a parameter can set: "vital, selection.start_s, ...". `prefix` of a message in a
// message.
std::string FieldNames(const google::protobuf::Descriptor& message,
                       const std::string& prefix = "") {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      names.push_back(prefix + field.name());
    } else if (!field.is_repeated() && prefix.empty()) {
      names.push_back(FieldNames(*field.message_type(), field.name() + "."));
    }
  }
  return absl::StrJoin(names, ", ");
}

// Fields of times are in seconds since 1970 and named so; a time of RFC 3339 is one, too.
absl::StatusOr<double> ParseNumber(const FieldDescriptor& field, const std::string& path,
                                   const std::string& value) {
  double number = 0;
  if (absl::SimpleAtod(value, &number) && std::isfinite(number)) return number;
  if (field.name() != "start_s" && field.name() != "end_s") return Wants(path, value, "a number");
  absl::Time time;
  std::string ignored;
  // Not its "infinite-future", which is no moment.
  if (absl::ParseTime(absl::RFC3339_full, value, &time, &ignored) &&
      time != absl::InfiniteFuture() && time != absl::InfinitePast()) {
    return absl::ToDoubleSeconds(time - absl::UnixEpoch());
  }
  return Wants(path, value, "a time: seconds since 1970, or as in 2026-02-16T17:00:00Z");
}

// One value of a scalar field, set or appended.
absl::Status SetScalar(Message* message, const FieldDescriptor* field, const std::string& path,
                       const std::string& value) {
  const Reflection* reflection = message->GetReflection();
  const auto put = [&](auto set, auto add, auto parsed) {
    if (field->is_repeated()) {
      (reflection->*add)(message, field, parsed);
    } else {
      (reflection->*set)(message, field, parsed);
    }
    return absl::OkStatus();
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      // An answer that shows it again could not be written as JSON.
      if (!ValidUtf8(value)) return Wants(path, value, "UTF-8 text");
      return put(&Reflection::SetString, &Reflection::AddString, value);
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const absl::StatusOr<double> number = ParseNumber(*field, path, value);
      if (!number.ok()) return number.status();
      return put(&Reflection::SetDouble, &Reflection::AddDouble, *number);
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      uint32_t number = 0;
      if (!absl::SimpleAtoi(value, &number)) return Wants(path, value, "a 32-bit number >= 0");
      return put(&Reflection::SetUInt32, &Reflection::AddUInt32, number);
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t number = 0;
      if (!absl::SimpleAtoi(value, &number)) return Wants(path, value, "a 64-bit number >= 0");
      return put(&Reflection::SetUInt64, &Reflection::AddUInt64, number);
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      bool flag = false;
      if (!absl::SimpleAtob(value, &flag)) return Wants(path, value, "true or false");
      return put(&Reflection::SetBool, &Reflection::AddBool, flag);
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* named = field->enum_type()->FindValueByName(value);
      if (named == nullptr) {
        std::vector<std::string> names;
        for (int i = 0; i < field->enum_type()->value_count(); ++i) {
          names.push_back(field->enum_type()->value(i)->name());
        }
        return Wants(path, value, absl::StrCat("one of ", absl::StrJoin(names, ", ")));
      }
      return put(&Reflection::SetEnum, &Reflection::AddEnum, named);
    }
    default:
      return Wants(path, value, "settable from a parameter; POST JSON instead");
  }
}

bool WantsBinary(const Request& http) { return absl::StrContains(http.accept, kBinary); }

Response Binary(std::string bytes) {
  Response response;
  response.content_type = kBinary;
  response.body = std::move(bytes);
  return response;
}

Response Json(absl::StatusOr<std::string> text) {
  if (!text.ok()) {
    return ErrorResponse(500, absl::StrCat(text.status().message(), "; ask for ", kBinary));
  }
  Response response;
  response.body = *std::move(text);
  return response;
}

}  // namespace

absl::Status SetField(Message* message, const std::string& path, const std::string& value) {
  size_t begin = 0;
  for (int depth = 0; depth < kMaxPathDepth; ++depth) {
    const size_t dot = path.find('.', begin);
    const std::string name = path.substr(begin, dot - begin);
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(name);
    if (field == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter ", path.substr(0, kMaxShownBytes),
                       ": no such field; there are: ", FieldNames(*message->GetDescriptor())));
    }
    const bool nested = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (dot == std::string::npos) {
      if (nested) return Wants(path, value, "a message; name one of its fields after a dot");
      return SetScalar(message, field, path, value);
    }
    if (!nested || field->is_repeated()) {
      return Wants(path, value, "settable from a parameter; POST JSON instead");
    }
    message = message->GetReflection()->MutableMessage(message, field);
    begin = dot + 1;
  }
  return absl::InvalidArgumentError("parameter: path too deep");
}

absl::Status ApiTable::ParseQuestion(const Request& http, Message* question) {
  for (const auto& [name, value] : http.query) {
    if (name == kFormat) continue;
    if (auto status = SetField(question, name, value); !status.ok()) return status;
  }
  if (http.method != "POST" || http.body.empty()) return absl::OkStatus();
  if (absl::StartsWith(http.content_type, kBinary)) {
    if (!question->MergeFromString(http.body)) {
      return absl::InvalidArgumentError(
          absl::StrCat("request: body is not a binary ", question->GetTypeName(), " message"));
    }
    return absl::OkStatus();
  }
  if (!absl::StartsWith(http.content_type, "application/json")) {
    // Also what stops a form on another site from posting here with the visitor's certificate.
    return absl::InvalidArgumentError(
        absl::StrCat("request: content type of a POST must be application/json or ", kBinary));
  }
  const auto parsed = google::protobuf::util::JsonStringToMessage(http.body, question);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("request: body is not the JSON of ", question->GetTypeName(), ": ",
                     std::string(parsed.message().data(), parsed.message().size())));
  }
  return absl::OkStatus();
}

absl::Status ApiTable::CheckFormat(const Request& http, const Message& answer) {
  const std::string format = FormatOf(http);
  return format == kJson ? absl::OkStatus() : formats::Check(answer, format);
}

Response ApiTable::RenderAnswer(const Request& http, const Message& answer, JsonTexts& texts) {
  Response response;
  if (const std::string format = FormatOf(http); format != kJson) {
    absl::StatusOr<formats::File> file = formats::Export(answer, format);
    if (!file.ok()) return ErrorResponse(file.status());
    response.content_type = file->content_type;
    response.body = std::move(file->bytes);
    // The last part of the path is the name of an answer that exists.
    response.headers.emplace_back(
        "Content-Disposition",
        absl::StrCat("attachment; filename=\"telltale-", http.path.substr(http.path.rfind('/') + 1),
                     file->extension, "\""));
    return response;
  }
  if (WantsBinary(http)) return Binary(answer.SerializeAsString());
  return Json(texts.Of(answer));
}

bool ApiTable::IsMessage(const Request& http) { return FormatOf(http) == kJson; }

Response ApiTable::RenderBytes(const Request& http, const Message& type, const std::string& answer,
                               JsonTexts& texts) {
  return WantsBinary(http) ? Binary(answer) : Json(texts.OfBytes(type, answer));
}

Response ApiTable::Answer(const std::string& name, const Request& http) const {
  const auto found = calls_.find(name);
  if (found == calls_.end()) {
    return ErrorResponse(404, absl::StrCat("no answer /api/v1/", name.substr(0, kMaxShownBytes),
                                           "; there are: ", absl::StrJoin(Names(), ", ")));
  }
  return found->second(http, CallContext{*http.peer, http.cancelled, http.address});
}

std::vector<std::string> ApiTable::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, call] : calls_) names.push_back(name);
  return names;
}

}  // namespace telltale::web
