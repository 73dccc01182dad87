// Names of the functions of an ELF file: those of .symtab, .dynsym and .gnu_debugdata together.
// Any file that can be run can be asked (elf_bytes.h says how). Values: any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_ELF_SYMBOLS_H_
#define TELLTALE_AGENT_SYMBOLS_ELF_SYMBOLS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "agent/symbols/packed_names.h"
#include "agent/symbols/symbol_index.h"

namespace telltale::agent {

class ElfBytes;

class ElfSymbols {
 public:
  struct Limits {
    size_t symbol_bytes = 24 << 20;  // of a symbol section
    size_t string_bytes = 16 << 20;  // of a string section, and of all names unpacked
    size_t functions = 150'000;
    size_t name_bytes = 1024;          // longer names are left out
    size_t packed_bytes = 8 << 20;     // of .gnu_debugdata
    size_t unpacked_bytes = 32 << 20;  // of what is in it
    SymbolIndex::Limits index;         // of a section beyond those limits
  };
  ElfSymbols() = default;  // knows none

  // What can be read of them; status() tells of the rest. `fd` stays open and is the caller's.
  static ElfSymbols Read(int fd, const Limits& limits);

  // OK, or what kept the first part from being read that could not be: InvalidArgument: no ELF file
  // or one that contradicts itself; ResourceExhausted names the section and its limit. Names of the
  // other parts are there all the same.
  const absl::Status& status() const { return status_; }

  // Mangled name of the function that holds `address`; empty if none does. Of an indexed file only
  // of functions that some other section names, and whose size is told.
  std::string NameAt(uint64_t address) const;

  // Whether names are to be read from the file; and one of an indexed file, out of it.
  bool indexed() const { return index_.size() != 0; }
  std::string NameIn(int fd, uint64_t address) const;

  size_t size() const { return functions_.size(); }
  size_t bytes() const {
    return functions_.size() * sizeof(Function) + names_.bytes() + index_.bytes();
  }

 private:
  struct Function {
    uint64_t address;
    uint32_t bytes;  // 0: up to the next one
    uint32_t name;   // its place in names_
  };

  template <typename Elf>
  absl::Status AddFile(const ElfBytes& file, const Limits& limits, bool unpack);
  template <typename Elf>
  absl::Status AddTable(const ElfBytes& file, const typename Elf::Section& symbols,
                        const typename Elf::Section& strings, const Limits& limits);
  absl::Status AddIndex(const ElfBytes& file, const Elf64::Section& symbols,
                        const Elf64::Section& names, const Limits& limits);
  absl::Status AddPacked(std::string_view packed, const Limits& limits);
  // Keeps the first problem.
  void Note(const absl::Status& status);

  std::vector<Function> functions_;  // ascending, one an address
  PackedNames names_;
  SymbolIndex index_;
  absl::Status status_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_ELF_SYMBOLS_H_
