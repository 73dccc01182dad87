// Unwind tables on disk, one file a build id, so that an agent that starts again need not read
// every program anew (cc1plus: 30 ms to build, 1 ms to load). A cache: what is damaged, of another
// version or lost is built again, and counted.
//
// A table that was loaded is the file, mapped: its memory is the page cache's, which the kernel
// takes back when it needs it. Files are not changed once they have their name; an error of the
// disk below one ends the process (SIGBUS), which is started again.
//
// A file: magic "TTunwind", u32 version 2, u32 numbers of rules, pages and rows, u64 base, u64 XXH3
// of all the rest, then the build id's length (u8) and bytes, zeroes up to a multiple of 8, rules
// (8 bytes each), pages (u32), rows (4 bytes each); little endian. Written under another name, then
// renamed. Files are untrusted when read: lengths and checksum first, then UnwindTable::FromParts.
//
// The directory holds at most max_bytes; what was used longest ago (by modification time, set at
// each use) goes first. Owned by one thread. Several agents may share a directory.

#ifndef TELLTALE_AGENT_UNWIND_TABLE_STORE_H_
#define TELLTALE_AGENT_UNWIND_TABLE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/unwind/unwind_table.h"

namespace telltale::agent {

// The bytes of a table's file.
std::string EncodeTable(std::string_view build_id, const UnwindTable& table);

// The table that these bytes are, aligned to 8, which `owner` keeps; null: the caller does, for
// longer than the table lives. DataLoss: damaged, of another version, or of another build id.
absl::StatusOr<UnwindTable> DecodeTable(std::string_view bytes, std::shared_ptr<const void> owner,
                                        std::string_view build_id,
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
    uint64_t failed = 0;       // writes refused by the file system
    std::string last_failure;  // of them, for people: the step, the path and why
  };
  explicit TableStore(Options options);

  // nullopt: not there, or damaged.
  std::optional<UnwindTable> Load(std::string_view build_id);
  // The table as it is kept, mapped. nullopt: it could not be, which is counted, no more: it is a
  // cache.
  std::optional<UnwindTable> Save(std::string_view build_id, const UnwindTable& table);

  // What has been looked up in mapped tables goes out of this process's memory; what is looked up
  // again comes back from the page cache, at a page fault each 64 KB.
  void LetPagesGo();

  const Counts& counts() const { return counts_; }

 private:
  class Mapping;
  std::string PathOf(std::string_view build_id) const;
  // nullopt: no such file; DataLoss: it is damaged.
  std::optional<absl::StatusOr<UnwindTable>> Map(std::string_view build_id);
  bool Write(const std::string& path, std::string_view bytes);
  void CountFailure(const char* step, const std::string& path);  // by errno
  void MakeRoom(uint64_t bytes);

  const Options options_;
  Counts counts_;
  std::vector<std::weak_ptr<const Mapping>> mapped_;  // some may be gone
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_TABLE_STORE_H_
