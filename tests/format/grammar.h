// The words of storage/FORMAT.md: big-endian numbers, bytes, messages behind a version byte. Free
// functions; what does not fit is a std::runtime_error that says why.

#ifndef TELLTALE_TESTS_FORMAT_GRAMMAR_H_
#define TELLTALE_TESTS_FORMAT_GRAMMAR_H_

#include <zstd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace telltale::format {

inline void Require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// What is not yet read of a key or a value.
class Bytes {
 public:
  explicit Bytes(std::string_view all) : left_(all) {}
  std::string Take(uint64_t count) {
    Require(left_.size() >= count, std::to_string(count - left_.size()) + " bytes short");
    const std::string taken(left_.substr(0, count));
    left_.remove_prefix(count);
    return taken;
  }
  uint64_t Int(uint64_t bytes) {
    uint64_t value = 0;
    for (const char byte : Take(bytes)) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }
  std::string Rest() { return Take(left_.size()); }
  bool AtEnd() const { return left_.empty(); }
  void End() const { Require(AtEnd(), std::to_string(left_.size()) + " bytes too many"); }

 private:
  std::string_view left_;
};

// Canonical bytes of a message, fields that nobody knows refused.
template <typename Message>
Message Parse(const std::string& bytes) {
  Message message;
  Require(message.ParseFromString(bytes), "not a " + message.GetTypeName());
  message.DiscardUnknownFields();
  Require(message.SerializeAsString() == bytes,
          "not the canonical bytes of known fields of " + message.GetTypeName());
  return message;
}

// A value without its version byte.
inline std::string Versioned(std::string_view value) {
  Bytes bytes(value);
  Require(bytes.Int(1) == 1, "value of another version than 1");
  return bytes.Rest();
}
template <typename Message>
Message Versioned(std::string_view value) {
  return Parse<Message>(Versioned(value));
}

inline std::string Unpack(const std::string& packed, size_t size) {
  Require(size <= 1 << 20, std::to_string(size) + " bytes before compression, limit 1 MiB");
  std::string bytes(size, '\0');
  const size_t got = ZSTD_decompress(bytes.data(), size, packed.data(), packed.size());
  Require(got == size, "not zstd of " + std::to_string(size) + " bytes");
  return bytes;
}

// The same, of a length that only the frame says.
inline std::string UnpackWhole(const std::string& packed) {
  return Unpack(packed, ZSTD_getFrameContentSize(packed.data(), packed.size()));
}

}  // namespace telltale::format

#endif  // TELLTALE_TESTS_FORMAT_GRAMMAR_H_
