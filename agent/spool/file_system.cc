#include "agent/spool/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

absl::Status Failed(const char* step, const std::string& path) {
  const int error = errno;
  const std::string text = absl::StrCat("spool: ", step, " ", path, ": ", std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(
        absl::StrCat(text, "; free space there or point spool.dir elsewhere"));
  }
  if (error == ENOENT) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM || error == EROFS) {
    return absl::UnavailableError(absl::StrCat(text, "; give the agent's user the directory"));
  }
  return absl::UnavailableError(text);
}

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

absl::Status WriteWith(int flags, const char* step, const std::string& path,
                       std::string_view bytes) {
  const Fd fd(open(path.c_str(), flags | O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (fd.get() < 0 || !WriteAll(fd.get(), bytes)) return Failed(step, path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> PosixFileSystem::Read(const std::string& path, size_t max_bytes) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (fd.get() < 0 || fstat(fd.get(), &info) != 0) return Failed("read", path);
  if (!S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) > max_bytes) {
    return absl::OutOfRangeError(
        absl::StrCat("spool: read ", path, ": not a plain file of at most ", max_bytes, " bytes"));
  }
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = read(fd.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", path);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

absl::StatusOr<std::vector<FileSystem::Entry>> PosixFileSystem::List(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(directory.c_str()), closedir);
  if (dir == nullptr) return Failed("list", directory);
  std::vector<Entry> entries;
  while (const dirent* entry = readdir(dir.get())) {
    struct stat info = {};
    if (fstatat(dirfd(dir.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(info.st_mode)) {
      entries.push_back({entry->d_name, static_cast<uint64_t>(info.st_size)});
    }
  }
  return entries;
}

absl::Status PosixFileSystem::MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0750) == 0 || errno == EEXIST) return absl::OkStatus();
  return Failed("make directory", path);
}

absl::Status PosixFileSystem::Write(const std::string& path, std::string_view bytes) {
  return WriteWith(O_TRUNC, "write", path, bytes);
}

absl::Status PosixFileSystem::Append(const std::string& path, std::string_view bytes) {
  return WriteWith(O_APPEND, "append to", path, bytes);
}

absl::Status PosixFileSystem::Overwrite(const std::string& path, std::string_view bytes) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (fd.get() < 0 || !WriteAll(fd.get(), bytes) || fdatasync(fd.get()) != 0) {
    return Failed("overwrite", path);
  }
  return absl::OkStatus();
}

absl::Status PosixFileSystem::Sync(const std::string& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0 || fsync(fd.get()) != 0) return Failed("sync", path);
  return absl::OkStatus();
}

absl::Status PosixFileSystem::Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return Failed("rename", from);
  return absl::OkStatus();
}

absl::Status PosixFileSystem::Remove(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return Failed("remove", path);
  return absl::OkStatus();
}

absl::Status WriteDurably(FileSystem& files, const std::string& directory, const std::string& name,
                          std::string_view bytes) {
  const std::string path = absl::StrCat(directory, "/", name);
  const std::string temp = absl::StrCat(path, ".tmp");
  absl::Status status = files.Write(temp, bytes);
  if (status.ok()) status = files.Sync(temp);
  if (status.ok()) status = files.Rename(temp, path);
  if (status.ok()) return files.Sync(directory);
  files.Remove(temp).IgnoreError();
  return status;
}

}  // namespace telltale::agent
