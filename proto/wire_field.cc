#include "proto/wire_field.h"

namespace telltale::proto {

bool TakeLongVarint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < bytes.size() && i < kLongestVarint; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

void PutLongVarint(uint64_t value, std::string& out) {
  char bytes[kLongestVarint];
  out.append(bytes, static_cast<size_t>(PutVarint(value, bytes) - bytes));
}

bool NextField(std::string_view& bytes, WireField& field) {
  const std::string_view begin = bytes;
  uint64_t tag = 0;
  if (!TakeVarint(bytes, tag) || tag >> 3 == 0 || tag > UINT32_MAX) return false;
  field = WireField();
  field.number = static_cast<int>(tag >> 3);
  field.type = static_cast<int>(tag & 7);
  size_t skip = 0;
  switch (field.type) {
    case 0:
      if (!TakeVarint(bytes, field.value)) return false;
      break;
    case 1:
      skip = 8;
      break;
    case 5:
      skip = 4;
      break;
    case 2: {
      uint64_t length = 0;
      if (!TakeVarint(bytes, length) || length > bytes.size()) return false;
      field.inside = bytes.substr(0, length);
      skip = length;
      break;
    }
    default:
      return false;  // groups: no message of ours has or will have one
  }
  if (skip > bytes.size()) return false;
  bytes.remove_prefix(skip);
  field.whole = begin.substr(0, begin.size() - bytes.size());
  return true;
}

}  // namespace telltale::proto
