#include "storage/data_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rocksdb/env.h"
#include "storage/rocks_database.h"

namespace telltale::storage {
namespace {

constexpr char kVersionFile[] = "VERSION";
constexpr char kVersionWord[] = "telltale-store ";

}  // namespace

absl::Status SyncDirectory(rocksdb::Env* env, const std::string& path) {
  std::unique_ptr<rocksdb::Directory> directory;
  rocksdb::Status synced = env->NewDirectory(path, &directory);
  if (synced.ok()) synced = directory->Fsync();
  return FromRocks(synced, "sync directory", path);
}

std::string ParentOf(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return "/";
  const size_t slash = path.find_last_of('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status SyncParent(rocksdb::Env* env, const std::string& path) {
  return SyncDirectory(env, ParentOf(path));
}

absl::Status GiveToOwnerOf(std::string_view step, const std::string& owner_of,
                           const std::string& path) {
  struct stat owner = {};
  if (geteuid() != 0 || stat(owner_of.c_str(), &owner) != 0) return absl::OkStatus();
  std::error_code error;
  std::vector<std::string> all = {path};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error)) {
    all.push_back(entry.path());
  }
  for (const std::string& each : all) {
    if (!error && lchown(each.c_str(), owner.st_uid, owner.st_gid) != 0) {
      error = std::error_code(errno, std::generic_category());
    }
  }
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(std::string(step), ": give ", path,
                                             " to the owner of ", owner_of, ": ", error.message()));
}

absl::Status WriteFormat(rocksdb::Env* env, const std::string& path) {
  const std::string file = path + "/" + kVersionFile;
  const std::string temporary = file + ".new";
  rocksdb::Status wrote = rocksdb::WriteStringToFile(env, absl::StrCat(kVersionWord, kFormat, "\n"),
                                                     temporary, /*should_sync=*/true);
  if (wrote.ok()) wrote = env->RenameFile(temporary, file);
  if (!wrote.ok()) return FromRocks(wrote, "write", file);
  return SyncDirectory(env, path);
}

absl::StatusOr<int> ReadFormat(rocksdb::Env* env, const std::string& path) {
  const std::string file = path + "/" + kVersionFile;
  std::string text;
  const rocksdb::Status read = rocksdb::ReadFileToString(env, file, &text);
  if (read.IsNotFound() || (!read.ok() && !env->FileExists(file).ok())) {
    if (env->FileExists(path + "/rocks/CURRENT").ok()) {
      return absl::DataLossError(absl::StrCat("open store ", path, ": ", kVersionFile,
                                              " is missing beside a database; restore it"));
    }
    return absl::NotFoundError(
        absl::StrCat("open store ", path, ": there is no store in this directory"));
  }
  if (!read.ok()) return FromRocks(read, "read", file);
  int format = 0;
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, kVersionWord) ||
      !absl::SimpleAtoi(absl::StripSuffix(rest, "\n"), &format) || format < 1) {
    return absl::DataLossError(absl::StrCat("open store ", path, ": ", kVersionFile,
                                            " does not read \"", kVersionWord,
                                            "N\"; is this a telltale data directory?"));
  }
  if (format > kFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("open store ", path, ": written in format ", format, ", this program knows ",
                     kFormat, "; use a newer program or another directory"));
  }
  return format;
}

absl::StatusOr<int> PrepareDirectory(rocksdb::Env* env, const std::string& path) {
  const rocksdb::Status made = env->CreateDirIfMissing(path);
  if (!made.ok()) return FromRocks(made, "make data directory", path);
  absl::StatusOr<int> format = ReadFormat(env, path);
  if (!absl::IsNotFound(format.status())) return format;
  // What is acknowledged from now on lies below these entries.
  const std::string rocks = path + "/rocks";
  const rocksdb::Status below = env->CreateDirIfMissing(rocks);
  if (!below.ok()) return FromRocks(below, "make data directory", rocks);
  absl::Status wrote = WriteFormat(env, path);
  if (wrote.ok()) wrote = SyncParent(env, path);
  if (!wrote.ok()) return wrote;
  return kFormat;
}

struct DirectoryHold::Lock {
  rocksdb::Env* env = nullptr;
  rocksdb::FileLock* lock = nullptr;
};

absl::StatusOr<DirectoryHold> DirectoryHold::Take(rocksdb::Env* env, const std::string& path) {
  auto lock = std::make_unique<Lock>();
  lock->env = env;
  const std::string file = path + "/rocks/LOCK";
  if (env->FileExists(file).ok()) {
    const rocksdb::Status taken = env->LockFile(file, &lock->lock);
    if (!taken.ok()) return FromRocks(taken, "open store", path);
  }
  return DirectoryHold(std::move(lock));
}

DirectoryHold::DirectoryHold(std::unique_ptr<Lock> lock) : lock_(std::move(lock)) {}
DirectoryHold::DirectoryHold(DirectoryHold&& other) noexcept = default;
DirectoryHold::~DirectoryHold() {
  if (lock_ == nullptr || lock_->lock == nullptr) return;
  lock_->env->UnlockFile(lock_->lock).PermitUncheckedError();
}

}  // namespace telltale::storage
