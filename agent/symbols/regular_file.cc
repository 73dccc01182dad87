#include "agent/symbols/regular_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace telltale::agent {

int OpenIfRegular(int looked_at, uint64_t inode) {
  if (looked_at < 0) return -1;
  struct stat info {};
  int fd = -1;
  if (fstat(looked_at, &info) == 0 && S_ISREG(info.st_mode) &&
      (inode == 0 || info.st_ino == inode)) {
    // Leads to the very file that was looked at, whatever its path leads to by now.
    const std::string itself = absl::StrCat("/proc/self/fd/", looked_at);
    fd = open(itself.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  }
  close(looked_at);
  return fd;
}

}  // namespace telltale::agent
