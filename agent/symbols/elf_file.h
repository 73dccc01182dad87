// What an ELF file says about itself: its build id, where its segments lie, the names of its
// functions. Files are untrusted (any user may run one): read with pread only (a file cut short
// while mapped would kill the agent), every count and offset checked against a limit before memory
// is reserved, no recursion. 32 and 64 bit, little endian. Free functions and values: any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_ELF_FILE_H_
#define TELLTALE_AGENT_SYMBOLS_ELF_FILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::agent {

struct ElfSegment {  // a PT_LOAD
  uint64_t file_offset = 0, bytes = 0, address = 0;
};

struct ElfIdentity {
  std::string build_id;  // of the GNU note, 1..32 bytes; empty: it has none
  std::vector<ElfSegment> segments;

  // The linker's address of a place in the file; nullopt if no segment loads it.
  std::optional<uint64_t> AddressOf(uint64_t file_offset) const;
};

// The GNU build id among ELF notes (of a segment, or of a file like /sys/kernel/notes); cut to 32
// bytes, empty if it is not there.
std::string GnuBuildId(std::string_view notes);

// InvalidArgument: not an ELF file, or one that contradicts itself. `fd` stays open and is the
// caller's.
absl::StatusOr<ElfIdentity> ReadElfIdentity(int fd);

struct ElfSection {
  uint64_t address = 0;  // the linker's, of its first byte
  std::string bytes;
};

// A section of a 64-bit file for `machine` (EM_*), by name. NotFound: it has none, or is for
// another machine; InvalidArgument as above; ResourceExhausted: longer than `max_bytes`.
absl::StatusOr<ElfSection> ReadElfSection(int fd, uint16_t machine, std::string_view name,
                                          size_t max_bytes);

// Functions of .symtab, or of .dynsym where that is stripped.
class ElfSymbols {
 public:
  struct Limits {
    size_t symbol_bytes = 24 << 20;  // of the symbol section
    size_t string_bytes = 16 << 20;  // of its string section
    size_t functions = 150'000;
    size_t name_bytes = 1024;  // longer names are left out
  };
  ElfSymbols() = default;  // knows none

  // InvalidArgument as above; ResourceExhausted names the section and its limit.
  static absl::StatusOr<ElfSymbols> Read(int fd, const Limits& limits);

  // Mangled name of the function that holds `address`; empty if none does.
  std::string_view NameAt(uint64_t address) const;

  size_t size() const { return functions_.size(); }
  size_t bytes() const { return functions_.size() * sizeof(Function) + names_.size(); }

 private:
  struct Function {
    uint64_t address;
    uint32_t bytes;  // 0: up to the next one
    uint32_t name;   // offset into names_
  };
  std::vector<Function> functions_;  // ascending, one an address
  std::string names_;                // each ends with '\0'
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_ELF_FILE_H_
