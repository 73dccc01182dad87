// Names the field a check refuses, "vitals[3].samples[7].stack", without building text on the way
// there: a path is a chain of stack frames that is rendered only when something is wrong. A child
// must not outlive its parent.

#ifndef TELLTALE_PROTO_FIELD_PATH_H_
#define TELLTALE_PROTO_FIELD_PATH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace telltale::proto {

class FieldPath {
 public:
  // `message` is what the error begins with: "summary", "hello".
  explicit FieldPath(const char* message) : name_(message) {}
  FieldPath(const FieldPath& parent, const char* field) : parent_(&parent), name_(field) {}
  FieldPath(const FieldPath& parent, const char* field, size_t index)
      : parent_(&parent), name_(field), index_(index), indexed_(true) {}

  // "summary: vitals[3].samples[7]"
  std::string Render() const;

  // InvalidArgument: "summary: vitals[3].stack is 9, must be at most 4 (stacks)".
  absl::Status Refuse(const char* field, uint64_t value, std::string_view rule) const;
  absl::Status RefuseSigned(const char* field, int64_t value, std::string_view rule) const;
  // The value is text of another machine: shown sanitized and cut to 64 bytes, with its length.
  absl::Status RefuseText(const char* field, std::string_view value, std::string_view rule) const;

  // OK if value <= limit; `what` says what the limit is ("stacks", "limit").
  absl::Status AtMost(const char* field, uint64_t value, uint64_t limit,
                      std::string_view what) const {
    // Asked for each of a summary's tens of thousands of values.
    return value <= limit ? absl::OkStatus() : RefuseAbove(field, value, limit, what);
  }
  // OK if text is printable UTF-8 of at most `limit` bytes.
  absl::Status Text(const char* field, std::string_view text, size_t limit) const;

 private:
  absl::Status RefuseAbove(const char* field, uint64_t value, uint64_t limit,
                           std::string_view what) const;

  const FieldPath* parent_ = nullptr;  // not owned
  const char* name_;
  size_t index_ = 0;
  bool indexed_ = false;
};

}  // namespace telltale::proto

// Leaves the enclosing function with the status unless it is OK.
#define TELLTALE_RETURN_IF_ERROR(expression)                        \
  do {                                                              \
    if (absl::Status status_of_ = (expression); !status_of_.ok()) { \
      return status_of_;                                            \
    }                                                               \
  } while (false)

#endif  // TELLTALE_PROTO_FIELD_PATH_H_
