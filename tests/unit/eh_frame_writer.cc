#include "tests/unit/eh_frame_writer.h"

namespace telltale::testing {
namespace {

template <typename T>
std::string Raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace

EhFrameWriter::EhFrameWriter(uint64_t address, std::string_view augmentation) : address_(address) {
  std::string body = Raw<uint32_t>(0);
  body += '\1';  // version
  body.append(augmentation).push_back('\0');
  body += "\x01\x78\x10";  // code factor 1, data factor -8, return address in column 16
  body += "\x01\x1b";      // pointers are 4 bytes, relative to where they stand
  body += "\x0c\x07\x08";  // CFA = rsp + 8
  body += "\x90\x01";      // return address at CFA - 8
  Entry(body);
}

EhFrameWriter& EhFrameWriter::Function(uint64_t begin, uint64_t length, std::string_view program) {
  const uint64_t here = bytes_.size() + 4;  // past the length
  std::string body = Raw<uint32_t>(static_cast<uint32_t>(here));
  body += Raw<int32_t>(static_cast<int32_t>(begin - (address_ + here + 4)));
  body += Raw<uint32_t>(static_cast<uint32_t>(length));
  body.push_back('\0');
  body += program;
  Entry(body);
  return *this;
}

void EhFrameWriter::Entry(std::string_view body) {
  bytes_ += Raw<uint32_t>(static_cast<uint32_t>(body.size()));
  bytes_ += body;
}

}  // namespace telltale::testing
