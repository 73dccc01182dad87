// What an ELF file says about itself: its build id, where its segments lie, the bytes of a section
// (elf_bytes.h says how such files are read). Free functions and values: any thread.

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

// Bytes of the longest id that travels (summary.proto, Mapping).
inline constexpr size_t kMaxBuildId = 32;

struct ElfSegment {  // a PT_LOAD
  uint64_t file_offset = 0, bytes = 0, address = 0;
};

struct ElfIdentity {
  std::string build_id;  // of the GNU note, 1..kMaxBuildId bytes; empty: it has none
  std::vector<ElfSegment> segments;

  // The linker's address of a place in the file; nullopt if no segment loads it.
  std::optional<uint64_t> AddressOf(uint64_t file_offset) const;
};

// The GNU build id among ELF notes (of a segment, or of a file like /sys/kernel/notes); cut to
// kMaxBuildId, empty if it is not there.
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

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_ELF_FILE_H_
