// Which file some code is in: the id that travels (summary.proto, Mapping), and whether a file is
// still the one that was read. Free functions and values: any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_CODE_IDENTITY_H_
#define TELLTALE_AGENT_SYMBOLS_CODE_IDENTITY_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/symbols/elf_file.h"

namespace telltale::agent {

// Differs once a file was written, or replaced by another one under the same inode.
struct FileStamp {
  uint64_t bytes = 0, mtime_ns = 0, ctime_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

FileStamp StampOf(const struct stat& info);

struct CodeIdentity {
  // Of its ELF notes, and behind it the owner of a file that is not root's; hashed without notes.
  std::string build_id;
  std::vector<ElfSegment> segments;
  bool is_elf = false;
  FileStamp stamp;  // from before it was read
};

// `device` as the process's maps name it. `fd` stays open and is the caller's.
CodeIdentity IdentifyCode(int fd, uint64_t device);

// The id of a file that cannot be opened.
std::string UnreadId(uint64_t device, uint64_t inode);

// Whether an id is a hash and no ELF build id.
bool IsHashedId(std::string_view build_id);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_CODE_IDENTITY_H_
