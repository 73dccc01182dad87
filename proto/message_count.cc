#include "proto/message_count.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "proto/text.h"

namespace telltale::proto {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kDepth = 16;

// Reads the wire format (protobuf.dev/programming-guides/encoding) without storing anything.
class Walker {
 public:
  explicit Walker(size_t limit) : limit_(limit) {}

  bool Walk(std::string_view bytes, const Descriptor& type, int depth) {
    if (depth > kDepth) return false;
    while (!bytes.empty() && count_ <= limit_) {
      const std::optional<uint64_t> tag = Varint(bytes);
      if (!tag || *tag >> 3 == 0 || *tag >> 3 > FieldDescriptor::kMaxNumber) return false;
      const FieldDescriptor* field = type.FindFieldByNumber(static_cast<int>(*tag >> 3));
      if (field == nullptr) ++count_;
      switch (*tag & 7) {
        case 0:
          if (!Varint(bytes)) return false;
          break;
        case 1:
          if (!Skip(bytes, 8)) return false;
          break;
        case 5:
          if (!Skip(bytes, 4)) return false;
          break;
        case 2: {
          const std::optional<uint64_t> length = Varint(bytes);
          if (!length || *length > bytes.size()) return false;
          const std::string_view inside = bytes.substr(0, *length);
          bytes.remove_prefix(*length);
          if (field == nullptr) break;
          if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) ++count_;
          // Protobuf would refuse it too, and print a line about each for anyone who sends it.
          if (field->type() == FieldDescriptor::TYPE_STRING && !WellFormed(inside)) return false;
          if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
            ++count_;
            if (!Walk(inside, *field->message_type(), depth + 1)) return false;
          }
          break;
        }
        default:
          return false;  // groups: no message of ours has or will have one
      }
    }
    return true;
  }

  size_t count() const { return count_; }

 private:
  static std::optional<uint64_t> Varint(std::string_view& bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
      const auto byte = static_cast<uint8_t>(bytes[i]);
      value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        bytes.remove_prefix(i + 1);
        return value;
      }
    }
    return std::nullopt;
  }

  static bool Skip(std::string_view& bytes, size_t count) {
    if (bytes.size() < count) return false;
    bytes.remove_prefix(count);
    return true;
  }

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
