// The few file operations the spool is built from, as an interface so that tests can fail or stop
// any one of them. Every call is one step as the kernel sees it. Any thread; no state.
//
// Errors name step, path and errno. ENOSPC and EDQUOT are ResourceExhausted, ENOENT is NotFound,
// all else is Unavailable.

#ifndef TELLTALE_AGENT_SPOOL_FILE_SYSTEM_H_
#define TELLTALE_AGENT_SPOOL_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace telltale::agent {

class FileSystem {
 public:
  struct Entry {
    std::string name;
    uint64_t bytes = 0;
  };
  virtual ~FileSystem() = default;

  // Whole content. OutOfRange if it is larger than `max_bytes`; checked before memory is reserved.
  virtual absl::StatusOr<std::string> Read(const std::string& path, size_t max_bytes) = 0;
  // Plain files of a directory, in no order.
  virtual absl::StatusOr<std::vector<Entry>> List(const std::string& directory) = 0;

  virtual absl::Status MakeDirectory(const std::string& path) = 0;  // fine if it is there
  virtual absl::Status Write(const std::string& path,
                             std::string_view bytes) = 0;  // new or emptied
  virtual absl::Status Append(const std::string& path, std::string_view bytes) = 0;
  // Over the file's first bytes, without changing its size if it is as long, then fdatasync.
  virtual absl::Status Overwrite(const std::string& path, std::string_view bytes) = 0;
  virtual absl::Status Sync(const std::string& path) = 0;  // file or directory
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status Remove(const std::string& path) = 0;  // fine if it is not there
};

class PosixFileSystem : public FileSystem {
 public:
  absl::StatusOr<std::string> Read(const std::string& path, size_t max_bytes) override;
  absl::StatusOr<std::vector<Entry>> List(const std::string& directory) override;
  absl::Status MakeDirectory(const std::string& path) override;
  absl::Status Write(const std::string& path, std::string_view bytes) override;
  absl::Status Append(const std::string& path, std::string_view bytes) override;
  absl::Status Overwrite(const std::string& path, std::string_view bytes) override;
  absl::Status Sync(const std::string& path) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
};

// `bytes` appear at `path` whole or not at all, also after a crash: temp file, fsync, rename, fsync
// of the directory.
absl::Status WriteDurably(FileSystem& files, const std::string& directory, const std::string& name,
                          std::string_view bytes);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SPOOL_FILE_SYSTEM_H_
