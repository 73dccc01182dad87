#include "collector/cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace telltale::cli {
namespace {

absl::Status Errno(const char* step, const std::string& path, int error) {
  const std::string text = absl::StrCat(step, " ", path, ": ", strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(text);
    case EEXIST:
      return absl::AlreadyExistsError(text);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(text);
    default:  // PermissionDenied and Unavailable speak of the collector
      return absl::InternalError(text);
  }
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ > STDERR_FILENO) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

bool WriteAll(int fd, const std::string& data) {
  for (size_t done = 0; done < data.size();) {
    const ssize_t n = write(fd, data.data() + done, data.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t limit) {
  const bool standard_input = path == "-";
  const File file(standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return Errno("read", path, errno);
  struct stat info {};
  if (fstat(file.fd(), &info) == 0 && S_ISDIR(info.st_mode)) return Errno("read", path, EISDIR);
  std::string data;
  char buffer[64 * 1024];
  while (true) {
    const ssize_t n = read(file.fd(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Errno("read", path, errno);
    if (n == 0) return data;
    if (data.size() + static_cast<size_t>(n) > limit) {
      return absl::ResourceExhaustedError(
          absl::StrCat("read ", path, ": larger than the limit of ", limit, " bytes"));
    }
    data.append(buffer, static_cast<size_t>(n));
  }
}

absl::Status WriteFile(const std::string& path, const std::string& data, mode_t mode,
                       bool overwrite) {
  const std::string beside = absl::StrCat(path, ".new-", getpid());
  int error = 0;
  {
    const File file(
        open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (file.fd() < 0) return Errno("write", path, errno);
    // The mode as asked for, whatever the umask, before any secret is inside.
    if (fchmod(file.fd(), mode) != 0 || !WriteAll(file.fd(), data) || fsync(file.fd()) != 0)
      error = errno;
  }
  if (error == 0) {
    if (overwrite) {
      if (rename(beside.c_str(), path.c_str()) != 0) error = errno;
    } else {
      // link() refuses to replace what came into being meanwhile; rename() would not.
      if (link(beside.c_str(), path.c_str()) != 0) error = errno;
      unlink(beside.c_str());
    }
  }
  if (error != 0) {
    unlink(beside.c_str());
    return Errno("write", path, error);
  }
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const File parent(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.fd() >= 0) fsync(parent.fd());
  return absl::OkStatus();
}

}  // namespace telltale::cli
