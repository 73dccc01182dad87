// Feeds arbitrary bytes to what reads the programs of other users and the cache of their unwind
// tables. The first byte chooses the door:
//   'e'  an ELF file: its .eh_frame and the table made of it
//   'f'  an .eh_frame section, and stacks walked by what it says
//   't'  a table file of the cache
// A table that is accepted must answer for any address, and come back from its file the same.
//
// Built as a libFuzzer target when the compiler is clang; its corpus is replayed by
// corpus_test.cc with any compiler.
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "agent/symbols/elf_file.h"
#include "agent/unwind/call_frames.h"
#include "agent/unwind/stack_walker.h"
#include "agent/unwind/table_store.h"

namespace {

using namespace telltale::agent;

constexpr UnwindTable::Limits kLimits = {.rows = 1 << 16, .rules = 4'096, .span = 1 << 26};
constexpr uint64_t kSection = 0x2000;
constexpr size_t kFrames = 50;

void Require(bool fact) {
  if (!fact) std::abort();
}

// All code is that of one table, whose addresses are taken from the stack's words as they are.
class OneTable : public CodeFinder {
 public:
  explicit OneTable(const UnwindTable& table) : table_(table) {}
  CodeAt Find(uint64_t address) override { return {CodeAt::Kind::kFile, table_.At(address)}; }

 private:
  const UnwindTable& table_;
};

void Walk(const UnwindTable& table, std::string_view bytes) {
  OneTable finder(table);
  UserCopy copy;
  copy.stack_address = 0x7000'0000'0000;
  copy.stack = {bytes.data(), bytes.size()};
  for (size_t reg = 0; reg < copy.registers.size(); ++reg) {
    copy.registers[reg] = copy.stack_address + 8 * reg;
  }
  copy.registers[kRsp] = copy.stack_address;
  for (const UnwindRow& row : table.parts().rows) {
    copy.registers[kRip] = table.parts().base + row.low;
    std::vector<uint64_t> frames;
    const UserEnd end = WalkStack(copy, finder, kFrames, frames);
    Require(end != UserEnd::kNone && !frames.empty() && frames.size() <= kFrames);
    if (&row - table.parts().rows.data() > 20) break;
  }
}

void UseTable(const UnwindTable& table, std::string_view bytes) {
  const uint64_t base = table.parts().base;
  for (const uint64_t address : {uint64_t{0}, base - 1, base, ~uint64_t{0}}) {
    table.At(address);
  }
  const std::string kept = EncodeTable("id", table);
  const auto again = DecodeTable(kept, nullptr, "id", kLimits);
  Require(again.ok() && std::ranges::equal(again->parts().rows, table.parts().rows) &&
          std::ranges::equal(again->parts().pages, table.parts().pages));
  Walk(table, bytes);
}

void ReadFrames(std::string_view section) {
  const auto frames = ParseEhFrame(section, kSection, kLimits);
  if (frames.ok()) UseTable(frames->table, section);
}

void ReadElf(std::string_view bytes) {
  static const int fd = memfd_create("unwind_fuzzer", MFD_CLOEXEC);
  Require(fd >= 0 && ftruncate(fd, 0) == 0);
  Require(pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  const auto section = ReadElfSection(fd, EM_X86_64, ".eh_frame", 1 << 20);
  if (section.ok()) ReadFrames(section->bytes);
}

void ReadTable(const std::string& aligned) {
  const auto table = DecodeTable(aligned, nullptr, "id", kLimits);
  if (table.ok()) UseTable(*table, aligned);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 1 << 20) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'e':
      ReadElf(bytes);
      break;
    case 'f':
      ReadFrames(bytes);
      break;
    case 't':
      ReadTable(std::string(bytes));
      break;
    default:
      break;
  }
  return 0;
}
