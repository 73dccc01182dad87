#include "agent/symbols/code_identity.h"

#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"

namespace telltale::agent {
namespace {

constexpr size_t kHashedIdBytes = 9;
constexpr size_t kOwnerBytes = 5;

uint64_t NsOf(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

std::string HashedId(uint64_t device, uint64_t inode, const FileStamp& stamp) {
  const std::array<uint64_t, 4> key{device, inode, stamp.bytes, stamp.mtime_ns};
  const uint64_t hash = XXH3_64bits(key.data(), sizeof key);
  std::string id = "h";
  for (int i = 0; i < 8; ++i) id.push_back(static_cast<char>(hash >> (8 * i)));
  return id;
}

// A build id is the same in all copies of a file, and anybody may write the one of a system library
// into a file of his own: it must not name the library's code then. So the id of a file that is not
// root's has its owner behind it.
void AddOwner(uid_t owner, std::string* build_id) {
  if (owner == 0 || owner == geteuid()) return;
  build_id->resize(std::min(build_id->size(), kMaxBuildId - kOwnerBytes));
  build_id->push_back('u');
  for (int i = 0; i < 4; ++i) build_id->push_back(static_cast<char>(owner >> (8 * i)));
}

}  // namespace

FileStamp StampOf(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_size), NsOf(info.st_mtim), NsOf(info.st_ctim)};
}

CodeIdentity IdentifyCode(int fd, uint64_t device) {
  CodeIdentity identity;
  struct stat info {};
  // First, so that a file written while it is read differs from its stamp.
  fstat(fd, &info);
  identity.stamp = StampOf(info);
  absl::StatusOr<ElfIdentity> elf = ReadElfIdentity(fd);
  identity.is_elf = elf.ok();
  if (elf.ok()) {
    identity.build_id = std::move(elf->build_id);
    identity.segments = std::move(elf->segments);
  }
  if (identity.build_id.empty()) {
    identity.build_id = HashedId(device, info.st_ino, identity.stamp);
  } else {
    AddOwner(info.st_uid, &identity.build_id);
  }
  return identity;
}

std::string UnreadId(uint64_t device, uint64_t inode) { return HashedId(device, inode, {}); }

bool IsHashedId(std::string_view build_id) {
  return build_id.starts_with('h') && build_id.size() == kHashedIdBytes;
}

}  // namespace telltale::agent
