#include "config/bundle/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace telltale::bundle {
namespace {

std::string Missing(const std::string& path, const char* why) {
  return absl::StrCat("not in the bundle: read ", path, ": ", why, "\n");
}

}  // namespace

std::string LogTail(const std::string& path, size_t keep_bytes) {
  // Not a pipe or a device: those have no end.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Missing(path, std::strerror(errno));
  struct stat info = {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return Missing(path, "not a plain file");
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  const uint64_t from = size > keep_bytes ? size - keep_bytes : 0;
  std::string tail(size - from, '\0');
  size_t filled = 0;
  while (filled < tail.size()) {
    const ssize_t got =
        pread(fd, tail.data() + filled, tail.size() - filled, static_cast<off_t>(from + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  close(fd);
  tail.resize(filled);
  if (from == 0) return tail;
  return absl::StrCat("... ", from, " bytes before this are left out\n", tail);
}

void AddLogs(const std::vector<std::string>& paths, std::map<std::string, std::string>& files) {
  int number = 0;
  for (const std::string& path : paths) {
    const std::string name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0: all of it
    files[absl::StrCat("logs/", ++number, "-", name)] = LogTail(path);
  }
}

}  // namespace telltale::bundle
