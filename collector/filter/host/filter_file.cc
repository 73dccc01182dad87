#include "collector/filter/host/filter_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace telltale::filter {
namespace {

constexpr std::string_view kSuffix = ".so";

absl::Status Failed(const char* step, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("filter file ", path, ": ", step, ": ", strerror(errno)));
}

absl::Status CheckOwner(const struct stat& file, const std::string& path) {
  if (file.st_uid != 0 && file.st_uid != geteuid()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " belongs to user ", file.st_uid,
                     ", who is neither root nor the collector's; chown root it"));
  }
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s can be written by others (mode %04o); chmod go-w it", path, file.st_mode & 07777));
  }
  return absl::OkStatus();
}

absl::Status Copy(int from, int to, uint64_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t put = sendfile(to, from, nullptr, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Failed("copy", path);
    if (put == 0) return absl::UnavailableError(absl::StrCat("filter file ", path, ": shrank"));
    size -= static_cast<uint64_t>(put);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FilterListing> ListFilters(const std::string& directory) {
  FilterListing listing;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error), end;
  if (error == std::errc::no_such_file_or_directory) return listing;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    struct stat file = {};
    if (entry->path().extension() != kSuffix || stat(path.c_str(), &file) != 0 ||
        !S_ISREG(file.st_mode)) {
      continue;
    }
    listing.files[path] = {
        .inode = file.st_ino,
        .size = static_cast<uint64_t>(file.st_size),
        .changed_ns = int64_t{file.st_ctim.tv_sec} * 1'000'000'000 + file.st_ctim.tv_nsec};
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("filters ", directory, ": cannot be read: ", error.message()));
  }
  while (listing.files.size() > kMaxFilterFiles) {
    listing.files.erase(std::prev(listing.files.end()));
    ++listing.left_out;
  }
  return listing;
}

absl::StatusOr<int> OpenFilter(const std::string& path) {
  struct stat directory = {};
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (stat(parent.c_str(), &directory) != 0) return Failed("stat", parent);
  if (auto status = CheckOwner(directory, parent); !status.ok()) return status;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Failed("open", path);
  struct stat found = {};
  absl::Status status;
  if (fstat(file, &found) != 0) {
    status = Failed("stat", path);
  } else if (!S_ISREG(found.st_mode)) {
    status = absl::FailedPreconditionError(absl::StrCat(path, " is no regular file"));
  } else if (static_cast<uint64_t>(found.st_size) > kMaxFilterFileBytes) {
    status = absl::FailedPreconditionError(
        absl::StrCat(path, " has ", found.st_size, " bytes, limit ", kMaxFilterFileBytes));
  } else {
    status = CheckOwner(found, path);
  }
  int copy = -1;
  if (status.ok() && (copy = memfd_create("filter", MFD_CLOEXEC)) < 0) {
    status = Failed("copy in memory", path);
  }
  if (status.ok()) status = Copy(file, copy, static_cast<uint64_t>(found.st_size), path);
  close(file);
  if (status.ok()) return copy;
  if (copy >= 0) close(copy);
  return status;
}

}  // namespace telltale::filter
