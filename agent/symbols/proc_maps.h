// Parser of /proc/PID/maps: which file lies where in a process. The text is untrusted (a process
// chooses the names of its files); malformed lines are skipped. Free functions: any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_PROC_MAPS_H_
#define TELLTALE_AGENT_SYMBOLS_PROC_MAPS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::agent {

inline constexpr const char* kVdsoPath = "[vdso]";

struct MappedRegion {
  uint64_t start = 0, end = 0;  // [start, end)
  uint64_t file_offset = 0;     // of start
  uint64_t device = 0;          // major << 20 | minor
  uint64_t inode = 0;           // 0: no file
  std::string path;             // escapes undone, " (deleted)" removed; "[vdso]", "[heap]", "" ...
};

// Executable regions in ascending order, at most `limit`. Regions that are empty or overlap the one
// before are skipped.
std::vector<MappedRegion> ParseMaps(std::string_view text, size_t limit);

// The same of a file that may be large, which is not kept.
struct MapsFile {
  std::vector<MappedRegion> regions;
  size_t bytes = 0;  // of text that were read, at most `max_bytes`
  bool cut = false;  // there are more executable regions, or more text
};
absl::StatusOr<MapsFile> ReadMaps(const std::string& path, size_t max_bytes, size_t limit);

// The region that holds `address`; nullptr if none does. `regions` ascending.
const MappedRegion* FindRegion(const std::vector<MappedRegion>& regions, uint64_t address);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_PROC_MAPS_H_
