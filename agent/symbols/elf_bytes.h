// The bytes of an ELF file, on disk or in memory, and what its header says about tables in it.
// Files are untrusted (any user may run one): read with pread only (a file cut short while mapped
// would kill the agent), every count and offset checked against a limit before memory is reserved,
// no recursion. 32 and 64 bit, little endian. Free functions and values: any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_ELF_BYTES_H_
#define TELLTALE_AGENT_SYMBOLS_ELF_BYTES_H_

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::agent {

class ElfBytes {
 public:
  // `fd` stays open and is the caller's; so is what `memory` refers to. Both outlive this.
  explicit ElfBytes(int fd) : fd_(fd) {}
  explicit ElfBytes(std::string_view memory) : memory_(memory) {}

  // All of [offset, offset + bytes), or false.
  bool Read(uint64_t offset, void* to, size_t bytes) const;
  // The same as text; no memory is reserved for what is beyond the end.
  std::optional<std::string> ReadText(uint64_t offset, size_t bytes) const;

 private:
  int fd_ = -1;
  std::string_view memory_;
};

struct Elf32 {
  using Header = Elf32_Ehdr;
  using Program = Elf32_Phdr;
  using Section = Elf32_Shdr;
  using Symbol = Elf32_Sym;
};
struct Elf64 {
  using Header = Elf64_Ehdr;
  using Program = Elf64_Phdr;
  using Section = Elf64_Shdr;
  using Symbol = Elf64_Sym;
};

// Whether it is a function of this file that has a name.
template <typename Symbol>
bool IsNamedFunction(const Symbol& s) {
  const int type = s.st_info & 0xf;
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && s.st_shndx != SHN_UNDEF &&
         s.st_value != 0 && s.st_name != 0;
}

// InvalidArgument: the file contradicts itself.
absl::Status BadElf(std::string_view what);
// ResourceExhausted: more than this agent reads.
absl::Status ElfBeyondLimit(std::string_view what, uint64_t value, uint64_t limit);

// ELFCLASS32 or ELFCLASS64; InvalidArgument if it is no little-endian ELF.
absl::StatusOr<int> ElfClassOf(const ElfBytes& file);

constexpr size_t kMaxElfHeaders = 4'096;  // program or section headers

template <typename T>
absl::StatusOr<std::vector<T>> ReadElfTable(const ElfBytes& file, uint64_t offset, size_t count,
                                            size_t entry_bytes, const char* what) {
  if (count == 0) return std::vector<T>{};
  if (entry_bytes != sizeof(T)) return BadElf(std::string(what) + ": odd entry size");
  if (count > kMaxElfHeaders) return ElfBeyondLimit(what, count, kMaxElfHeaders);
  std::vector<T> table(count);
  if (!file.Read(offset, table.data(), count * sizeof(T))) {
    return BadElf(std::string(what) + ": beyond the end of the file");
  }
  return table;
}

template <typename Elf>
absl::StatusOr<std::vector<typename Elf::Section>> ReadElfSections(const ElfBytes& file,
                                                                   typename Elf::Header* header) {
  if (!file.Read(0, header, sizeof *header)) return BadElf("header cut short");
  return ReadElfTable<typename Elf::Section>(file, header->e_shoff, header->e_shnum,
                                             header->e_shentsize, "section headers");
}

// The section called `name` among `sections` that has bytes in the file; nullptr: there is none.
template <typename Elf>
const typename Elf::Section* FindElfSection(const ElfBytes& file,
                                            const typename Elf::Header& header,
                                            const std::vector<typename Elf::Section>& sections,
                                            std::string_view name) {
  if (header.e_shstrndx >= sections.size()) return nullptr;
  const auto& names = sections[header.e_shstrndx];
  std::string found(name.size() + 1, '\0');
  for (const auto& section : sections) {
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
    if (uint64_t{section.sh_name} + found.size() > names.sh_size) continue;
    if (!file.Read(uint64_t{names.sh_offset} + section.sh_name, found.data(), found.size())) {
      continue;
    }
    if (found.back() == '\0' && found.starts_with(name)) return &section;
  }
  return nullptr;
}

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_ELF_BYTES_H_
