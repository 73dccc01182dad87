// Fields of a protobuf message, one after the other, on the bytes themselves: for readers that
// leave most of a message alone. Free functions: any thread.

#ifndef TELLTALE_PROTO_WIRE_FIELD_H_
#define TELLTALE_PROTO_WIRE_FIELD_H_

#include <bit>
#include <cstddef>
#include <cstdint>
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

// The same for what most are not: longer than a byte, or not there.
bool TakeLongVarint(std::string_view& bytes, uint64_t& value);
void PutLongVarint(uint64_t value, std::string& out);

// Takes a number off `bytes`. False: there is none.
inline bool TakeVarint(std::string_view& bytes, uint64_t& value) {
  if (bytes.empty() || static_cast<uint8_t>(bytes.front()) >= 0x80) {
    return TakeLongVarint(bytes, value);
  }
  value = static_cast<uint8_t>(bytes.front());
  bytes.remove_prefix(1);
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

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_WIRE_FIELD_H_
