// Where in a 64-bit ELF file the symbols of its functions stand, for a file that has more of them
// than are kept by name: a large C++ program has half a million, with 100 MB of names. 8 bytes a
// function stay in memory; a name is read from the file when somebody asks, so not of a file that
// is gone by then.
//
// A value; any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_SYMBOL_INDEX_H_
#define TELLTALE_AGENT_SYMBOLS_SYMBOL_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/symbols/elf_bytes.h"

namespace telltale::agent {

class SymbolIndex {
 public:
  struct Limits {
    size_t symbol_bytes = 96 << 20;  // of the symbol section: 4 million of all kinds
    size_t functions = 600'000;
    size_t name_bytes = 1024;  // longer names are left out
  };
  SymbolIndex() = default;  // knows none

  // Of a symbol section and the one with its names. InvalidArgument: they contradict themselves;
  // ResourceExhausted names the limit.
  static absl::StatusOr<SymbolIndex> Read(const ElfBytes& file, const Elf64::Section& symbols,
                                          const Elf64::Section& names, const Limits& limits);

  // Mangled name of the function that holds `address`, out of the same file; empty if none does.
  std::string NameAt(const ElfBytes& file, uint64_t address) const;

  size_t size() const { return functions_.size(); }
  size_t bytes() const { return functions_.size() * sizeof(Function); }

 private:
  struct Function {
    uint32_t address;
    uint32_t symbol;  // its number in the section
    auto operator<=>(const Function&) const = default;
  };

  std::vector<Function> functions_;  // ascending, one an address: the first in the file
  uint64_t symbols_at_ = 0;          // in the file
  uint64_t names_at_ = 0, names_bytes_ = 0;
  size_t name_bytes_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_SYMBOL_INDEX_H_
