// Feeds arbitrary bytes to what names the functions of other users' programs. The first byte
// chooses the door:
//   'e'  an ELF file: its identity, sections and symbols
//   'x'  what .gnu_debugdata holds
//   'n'  a mangled name
// What is read must answer for any address, within the limits it was given.
//
// Built as a libFuzzer target when the compiler is clang; its corpus is replayed by
// corpus_test.cc with any compiler.
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/symbols/demangle.h"
#include "agent/symbols/elf_file.h"
#include "agent/symbols/elf_symbols.h"
#include "agent/symbols/mini_debug_info.h"

namespace {

using namespace telltale::agent;

constexpr size_t kUnpacked = 1 << 20;

void Require(bool fact) {
  if (!fact) std::abort();
}

void ReadElf(std::string_view bytes) {
  static const int fd = memfd_create("elf_fuzzer", MFD_CLOEXEC);
  Require(fd >= 0 && ftruncate(fd, 0) == 0);
  Require(pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  if (const auto identity = ReadElfIdentity(fd); identity.ok()) {
    Require(identity->build_id.size() <= 32);
    for (const ElfSegment& s : identity->segments) identity->AddressOf(s.file_offset);
  }
  const auto section = ReadElfSection(fd, EM_X86_64, ".eh_frame", kUnpacked);
  Require(!section.ok() || section->bytes.size() <= bytes.size());
  const ElfSymbols::Limits limits{.symbol_bytes = 1 << 20,
                                  .string_bytes = 1 << 16,
                                  .functions = 10'000,
                                  .name_bytes = 200,
                                  .packed_bytes = 1 << 18,
                                  .unpacked_bytes = kUnpacked,
                                  .index = {.functions = 20'000, .name_bytes = 200}};
  const ElfSymbols symbols = ElfSymbols::Read(fd, limits);
  Require(symbols.size() <= limits.functions &&
          symbols.bytes() <= 16 * limits.functions + 8 * limits.index.functions + 65'536);
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x1000}, uint64_t{0x401000}, ~uint64_t{0}}) {
    Require(symbols.NameAt(address).size() <= limits.name_bytes);
    Require(symbols.NameIn(fd, address).size() <= limits.name_bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 1 << 20) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'e':
      ReadElf(bytes);
      break;
    case 'x': {
      const auto unpacked = UnpackMiniDebugInfo(bytes, kUnpacked);
      Require(!unpacked.ok() || unpacked->size() <= kUnpacked);
      break;
    }
    case 'n':
      Require(Demangled(bytes).size() <= 512);
      break;
    default:
      break;
  }
  return 0;
}
