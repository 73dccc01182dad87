// Unwind tables on disk, one file a build id, so that an agent that starts again need not read
// every program anew (cc1plus: 30 ms to build, 1 ms to load). A cache: what is damaged, of another
// version or lost is built again, and counted.
//
// A file: magic "TTunwind", u32 version 1, u32 numbers of rules, pages and rows, u64 base, u64 XXH3
// of all the rest, then the build id's length (u8) and bytes, rules (8 bytes each), pages (u32),
// rows (4 bytes each); little endian. Written under another name, then renamed. Files are untrusted
// when read: lengths and checksum first, then UnwindTable::FromParts.
//
// The directory holds at most max_bytes; what was used longest ago (by modification time, set at
// each use) goes first. Owned by one thread. Several agents may share a directory.

#ifndef TELLTALE_AGENT_UNWIND_TABLE_STORE_H_
#define TELLTALE_AGENT_UNWIND_TABLE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/unwind/unwind_table.h"

namespace telltale::agent {

// The bytes of a table's file.
std::string EncodeTable(std::string_view build_id, const UnwindTable& table);

// DataLoss: damaged, of another version, or of another build id.
absl::StatusOr<UnwindTable> DecodeTable(std::string_view bytes, std::string_view build_id,
                                        const UnwindTable::Limits& limits);

class TableStore {
 public:
  struct Options {
    std::string directory;  // made if its parent is there; empty: nothing is kept
    uint64_t max_bytes = 64 << 20;
    UnwindTable::Limits limits;
  };
  struct Counts {
    uint64_t loaded = 0, saved = 0;
    uint64_t damaged = 0;  // files that could not be used, removed
    uint64_t evicted = 0;
    uint64_t failed = 0;  // writes refused by the file system
  };
  explicit TableStore(Options options);

  // nullopt: not there, or damaged.
  std::optional<UnwindTable> Load(std::string_view build_id);
  // A table that cannot be kept is counted, no more: it is a cache.
  void Save(std::string_view build_id, const UnwindTable& table);

  const Counts& counts() const { return counts_; }

 private:
  std::string PathOf(std::string_view build_id) const;
  bool Write(const std::string& path, std::string_view bytes);
  void MakeRoom(uint64_t bytes);

  const Options options_;
  Counts counts_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_TABLE_STORE_H_
