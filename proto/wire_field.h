// Fields of a protobuf message, one after the other, on the bytes themselves: for readers that
// leave most of a message alone. Free functions: any thread.

#ifndef TELLTALE_PROTO_WIRE_FIELD_H_
#define TELLTALE_PROTO_WIRE_FIELD_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace telltale::proto {

// One field of a message on the wire.
struct WireField {
  int number = 0;
  int type = 0;             // wire type: 0 varint, 1 and 5 of 8 and 4 bytes, 2 with a length
  uint64_t value = 0;       // of varints
  std::string_view inside;  // of what has a length
  std::string_view whole;   // with its tag
};

// Takes the next field off `bytes`. False: they are no message.
bool NextField(std::string_view& bytes, WireField& field);

// The same byte by byte, of what is longer than eight, stands at the end of the bytes or is none;
// and of any that is longer than one.
bool TakeLongVarint(std::string_view& bytes, uint64_t& value);
void PutLongVarint(uint64_t value, std::string& out);

// Takes a number off `bytes`. False: there is none.
inline bool TakeVarint(std::string_view& bytes, uint64_t& value) {
  static_assert(std::endian::native == std::endian::little);
  constexpr uint64_t kMarks = 0x8080'8080'8080'8080;
  if (!bytes.empty() && static_cast<uint8_t>(bytes.front()) < 0x80) {
    value = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    return true;
  }
  if (bytes.size() < sizeof(value)) return TakeLongVarint(bytes, value);
  // Of at most eight bytes, without a branch for each: those behind its end are left out, and the
  // groups of seven bits moved together.
  std::memcpy(&value, bytes.data(), sizeof(value));
  const uint64_t ends = ~value & kMarks;
  if (ends == 0) return TakeLongVarint(bytes, value);
  value &= (ends ^ (ends - 1)) & ~kMarks;
  value = (value & 0x007f'007f'007f'007f) | (value & 0x7f00'7f00'7f00'7f00) >> 1;
  value = (value & 0x0000'3fff'0000'3fff) | (value & 0x3fff'0000'3fff'0000) >> 2;
  value = (value & 0x0fff'ffff) | (value & 0x0fff'ffff'0000'0000) >> 4;
  bytes.remove_prefix(static_cast<size_t>(std::countr_zero(ends)) / 8 + 1);
  return true;
}
inline void PutVarint(uint64_t value, std::string& out) {
  if (value >= 0x80) return PutLongVarint(value, out);
  out.push_back(static_cast<char>(value));
}
// How many bytes it takes, none too many.
inline size_t VarintSize(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}
// The most that one takes.
inline constexpr size_t kLongestVarint = 10;

// A varint at `end`, where there is room for the longest; returns where it ends.
inline char* PutVarint(uint64_t value, char* end) {
  constexpr uint64_t kInEight = uint64_t{1} << 56;
  if (value < 0x80) {
    *end++ = static_cast<char>(value);
  } else if (value < kInEight) {
    // Without a branch for each byte: the groups of seven bits are moved apart, and all bytes but
    // the last are marked.
    const size_t size = VarintSize(value);
    value = (value & 0x00ff'ffff'f000'0000) << 4 | (value & 0x0fff'ffff);
    value = (value & 0x0fff'c000'0fff'c000) << 2 | (value & 0x0000'3fff'0000'3fff);
    value = (value & 0x3f80'3f80'3f80'3f80) << 1 | (value & 0x007f'007f'007f'007f);
    value |= 0x8080'8080'8080'8080 & ((uint64_t{1} << 8 * (size - 1)) - 1);
    std::memcpy(end, &value, sizeof(value));
    end += size;
  } else {
    for (; value >= 0x80; value >>= 7) *end++ = static_cast<char>(value | 0x80);
    *end++ = static_cast<char>(value);
  }
  return end;
}

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_WIRE_FIELD_H_
