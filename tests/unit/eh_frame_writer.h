// Writes .eh_frame sections for tests, one CIE and functions that use it.

#ifndef TELLTALE_TESTS_UNIT_EH_FRAME_WRITER_H_
#define TELLTALE_TESTS_UNIT_EH_FRAME_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace telltale::testing {

class EhFrameWriter {
 public:
  // `address`: of the section's first byte. Functions begin with CFA = rsp + 8 and the return
  // address below it, as compilers' do; "zRS" makes them signal trampolines.
  explicit EhFrameWriter(uint64_t address, std::string_view augmentation = "zR");

  // `program`: bytes of call frame instructions.
  EhFrameWriter& Function(uint64_t begin, uint64_t length, std::string_view program);

  const std::string& bytes() const { return bytes_; }

 private:
  void Entry(std::string_view body);

  const uint64_t address_;
  std::string bytes_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_UNIT_EH_FRAME_WRITER_H_
