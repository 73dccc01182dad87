// Reads numbers off the front of untrusted bytes, little endian. Beyond the end every read gives 0
// and the reader is no longer ok(). A value; no thread of its own.

#ifndef TELLTALE_AGENT_UNWIND_BYTE_READER_H_
#define TELLTALE_AGENT_UNWIND_BYTE_READER_H_

#include <cstdint>
#include <cstring>
#include <string_view>

namespace telltale::agent {

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool empty() const { return at_ == bytes_.size(); }
  size_t at() const { return at_; }  // bytes read so far
  size_t left() const { return bytes_.size() - at_; }

  template <typename T>
  T Fixed() {
    T value{};
    if (left() < sizeof(T)) return Fail<T>();
    memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  std::string_view Bytes(uint64_t count) {
    if (left() < count) return Fail<std::string_view>();
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }

  // Up to and without the next zero byte, which is read too.
  std::string_view Text() {
    const size_t end = bytes_.find('\0', at_);
    if (end == std::string_view::npos) return Fail<std::string_view>();
    const std::string_view text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }

  // LEB128 (DWARF 4, 7.6); bits beyond 64 are dropped.
  uint64_t Unsigned() {
    unsigned shift = 0;
    return Leb(&shift);
  }
  int64_t Signed() {
    unsigned shift = 0;
    uint64_t value = Leb(&shift);
    if (shift < 64 && (value >> (shift - 1) & 1) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }

 private:
  template <typename T>
  T Fail() {
    ok_ = false;
    at_ = bytes_.size();
    return T{};
  }

  // *shift: the number of bits read, at least 7.
  uint64_t Leb(unsigned* shift) {
    uint64_t value = 0;
    for (;;) {
      const auto byte = Fixed<uint8_t>();
      if (*shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << *shift;
      *shift += 7;
      if ((byte & 0x80) == 0) return value;
    }
  }

  std::string_view bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_BYTE_READER_H_
