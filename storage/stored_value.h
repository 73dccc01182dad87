// A stored message: one version byte, then canonical bytes. Or that there was one: a row that was
// lost with a damaged file has stood there since salvage took the file away, so that its absence is
// no silence (salvage.h). Who reads it is told DataLoss, as of a row whose block is damaged. Any
// thread.

#ifndef TELLTALE_STORAGE_STORED_VALUE_H_
#define TELLTALE_STORAGE_STORED_VALUE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "proto/codec.h"

namespace telltale::storage {

inline constexpr char kValueVersion = 1;
inline constexpr char kLostVersion = '\xff';
inline constexpr char kToldLossPayload[] = "telltale/told-loss";

// `why`: which file it was lost with, and when that was told.
inline std::string LostValue(std::string_view why) {
  std::string value(1, kLostVersion);
  value.append(why);
  return value;
}
inline bool IsLostValue(std::string_view value) {
  return !value.empty() && value[0] == kLostVersion;
}

// Whether an error is that of such a row: it was told when it was salvaged, and is no fault that
// anybody has to look for.
inline bool IsToldLoss(const absl::Status& status) {
  return status.GetPayload(kToldLossPayload).has_value();
}

inline std::string VersionedValue(std::string_view content) {
  std::string value;
  value.reserve(1 + content.size());
  value.push_back(kValueVersion);
  value.append(content);
  return value;
}

inline std::string EncodeValue(const google::protobuf::MessageLite& message) {
  return VersionedValue(proto::Canonical(message));
}

// What stands behind the version byte. DataLoss: empty; FailedPrecondition: a version of another
// program.
inline absl::StatusOr<std::string_view> ValueContent(std::string_view value, const char* what) {
  if (value.empty()) {
    return absl::DataLossError(absl::StrCat("read ", what, ": empty value, want a version byte"));
  }
  if (IsLostValue(value)) {
    absl::Status lost =
        absl::DataLossError(absl::StrCat("read ", what, ": ", std::string(value.substr(1))));
    lost.SetPayload(kToldLossPayload, absl::Cord());
    return lost;
  }
  if (value[0] != kValueVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "read ", what, ": value version ", static_cast<int>(value[0]), ", this program knows ",
        static_cast<int>(kValueVersion), "; use a newer program"));
  }
  return value.substr(1);
}

// Into a message that may have held another value: its memory is used again.
inline absl::Status DecodeInto(std::string_view value, const char* what,
                               google::protobuf::MessageLite* message) {
  absl::StatusOr<std::string_view> content = ValueContent(value, what);
  if (!content.ok()) return content.status();
  if (!message->ParseFromArray(content->data(), static_cast<int>(content->size()))) {
    return absl::DataLossError(
        absl::StrCat("read ", what, ": ", content->size(), " bytes are not a ", what));
  }
  return absl::OkStatus();
}

template <typename Message>
absl::StatusOr<Message> DecodeValue(std::string_view value, const char* what) {
  Message message;
  if (absl::Status status = DecodeInto(value, what, &message); !status.ok()) return status;
  return message;
}

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_STORED_VALUE_H_
