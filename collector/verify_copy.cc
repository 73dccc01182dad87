#include "collector/verify_copy.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/control_socket.h"

namespace telltale::collector {
namespace {

constexpr char kName[] = "verify.part";

// A descriptor that holds the lock; it is let go when that is closed, whoever dies.
absl::StatusOr<int> Lock(const std::string& data) {
  const int fd = open(data.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  const int why = errno;
  if (fd >= 0) close(fd);
  if (why == EWOULDBLOCK) {
    return absl::FailedPreconditionError(absl::StrCat("verify ", data,
                                                      ": another verify reads its copy ", data, "/",
                                                      kName, "; wait until it has ended"));
  }
  return absl::UnavailableError(absl::StrCat("verify: lock ", data, ": ", std::strerror(why)));
}

absl::Status Remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "verify: remove ", path, ", a copy nobody reads: ", error.message(), "; remove it by hand"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<VerifyCopy>> VerifyCopy::Ask(const std::string& data,
                                                            const storage::CopyWatcher& watch) {
  const absl::StatusOr<int> lock = Lock(data);
  if (!lock.ok()) return lock.status();
  std::unique_ptr<VerifyCopy> copy(new VerifyCopy(data + "/" + kName, *lock));
  absl::Status removed = Remove(copy->path());
  if (!removed.ok()) return removed;
  const auto copied = AskForBackup(data, copy->path(), watch);
  if (!copied.ok()) return copied.status();
  return copy;
}

VerifyCopy::~VerifyCopy() {
  if (const absl::Status removed = Remove(path_); !removed.ok()) {
    std::fprintf(stderr, "telltale-collector: %s\n", std::string(removed.message()).c_str());
  }
  close(lock_);
}

absl::Status VerifyCopy::RemoveLeft(const std::string& data) {
  const std::string path = data + "/" + kName;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return absl::OkStatus();
  const absl::StatusOr<int> lock = Lock(data);
  if (absl::IsFailedPrecondition(lock.status())) return absl::OkStatus();
  if (!lock.ok()) return lock.status();
  absl::Status removed = Remove(path);
  close(*lock);
  return removed;
}

}  // namespace telltale::collector
