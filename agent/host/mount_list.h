// What is mounted where, as a process sees it (/proc/PID/mountinfo, proc(5)). Free functions and
// values: any thread.

#ifndef TELLTALE_AGENT_HOST_MOUNT_LIST_H_
#define TELLTALE_AGENT_HOST_MOUNT_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::agent {

struct Mount {
  uint64_t device = 0;  // major << 20 | minor
  std::string point;    // escapes undone
  std::string type;     // "ext4", "nfs4", "fuse.sshfs"
  std::string options;  // of the file system, not of this mount: "rw,memory"
};

constexpr size_t kMostMountBytes = 1 << 20, kMostMounts = 8'192;

// At most `limit`, in the order of the text; lines that are none are skipped.
std::vector<Mount> ParseMounts(std::string_view text, size_t limit);

// The mount that an absolute path without "..", and without links on its way, lies in: of those
// whose point leads to it the longest, and of equal ones the last. Null: none does.
const Mount* MountOf(const std::vector<Mount>& mounts, std::string_view path);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_HOST_MOUNT_LIST_H_
