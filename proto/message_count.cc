#include "proto/message_count.h"

#include "absl/strings/str_cat.h"
#include "proto/text.h"
#include "proto/wire_field.h"

namespace telltale::proto {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kDepth = 16;
constexpr int kWithLength = 2;  // wire type

// Reads the wire format (protobuf.dev/programming-guides/encoding) without storing anything.
class Walker {
 public:
  explicit Walker(size_t limit) : limit_(limit) {}

  bool Walk(std::string_view bytes, const Descriptor& type, int depth) {
    if (depth > kDepth) return false;
    while (!bytes.empty() && count_ <= limit_) {
      WireField part;
      if (!NextField(bytes, part)) return false;
      const FieldDescriptor* field = type.FindFieldByNumber(part.number);
      if (field == nullptr) ++count_;
      if (field == nullptr || part.type != kWithLength) continue;
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) ++count_;
      // Protobuf would refuse it too, and print a line about each for anyone who sends it.
      if (field->type() == FieldDescriptor::TYPE_STRING && !WellFormed(part.inside)) return false;
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        ++count_;
        if (!Walk(part.inside, *field->message_type(), depth + 1)) return false;
      }
    }
    return true;
  }

  size_t count() const { return count_; }

 private:
  const size_t limit_;
  size_t count_ = 0;
};

}  // namespace

absl::StatusOr<size_t> CountObjects(std::string_view bytes, const Descriptor& type, size_t limit) {
  Walker walker(limit);
  if (!walker.Walk(bytes, type, 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the ", bytes.size(), " bytes are no well-formed ", type.full_name(), " in UTF-8"));
  }
  return walker.count();
}

}  // namespace telltale::proto
