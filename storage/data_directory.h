// The store's directory as files: VERSION, and rocks/ beside it. What it is, made and checked
// before any database is opened (FORMAT.md). All of it is durable when a call returns, directory
// entries too. Free functions; any thread.

#ifndef TELLTALE_STORAGE_DATA_DIRECTORY_H_
#define TELLTALE_STORAGE_DATA_DIRECTORY_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rocksdb {
class Env;
}

namespace telltale::storage {

inline constexpr int kFormat = 3;

// The format a directory is in, at most kFormat. NotFound: there is none, neither VERSION nor a
// database; DataLoss: it is not ours or damaged; FailedPrecondition: of a newer program.
absl::StatusOr<int> ReadFormat(rocksdb::Env* env, const std::string& path);

// VERSION with kFormat, whole or not at all.
absl::Status WriteFormat(rocksdb::Env* env, const std::string& path);

// Makes the directory with its VERSION and rocks/, or reads which format it is in.
absl::StatusOr<int> PrepareDirectory(rocksdb::Env* env, const std::string& path);

// A directory that nothing may change meanwhile: held like a running collector holds it.
class DirectoryHold {
 public:
  // Unavailable: another process holds it. A directory that never was opened (a backup) has nothing
  // to hold and is not changed.
  static absl::StatusOr<DirectoryHold> Take(rocksdb::Env* env, const std::string& path);
  DirectoryHold(DirectoryHold&& other) noexcept;
  DirectoryHold& operator=(DirectoryHold&&) = delete;
  ~DirectoryHold();

 private:
  struct Lock;
  explicit DirectoryHold(std::unique_ptr<Lock> lock);
  std::unique_ptr<Lock> lock_;
};

// The directory in which a path lies.
std::string ParentOf(const std::string& path);
// Makes the entries of a directory durable; of the one it lies in, its own.
absl::Status SyncParent(rocksdb::Env* env, const std::string& path);
absl::Status SyncDirectory(rocksdb::Env* env, const std::string& path);

// Run by root: gives `path`, with all in it, to whoever owns `owner_of`: what root makes of a
// collector's is the collector's. `step` is for the error.
absl::Status GiveToOwnerOf(std::string_view step, const std::string& owner_of,
                           const std::string& path);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_DATA_DIRECTORY_H_
