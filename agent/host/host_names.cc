#include "agent/host/host_names.h"

#include <unistd.h>

#include <climits>

#include "absl/strings/str_cat.h"
#include "agent/host/proc_file.h"

namespace telltale::agent {
namespace {

constexpr size_t kPasswdBytes = 1 << 20, kMaxUsers = 4'096, kMaxDisks = 1'024, kMaxHostName = 64;
constexpr unsigned kMinorBits = 20;  // of the kernel's dev_t

}  // namespace

std::map<uint32_t, std::string> ParsePasswd(std::string_view text) {
  std::map<uint32_t, std::string> users;
  ForEachLine(text, [&users](std::string_view line) {
    const size_t name = line.find(':');
    const size_t secret = name == std::string_view::npos ? name : line.find(':', name + 1);
    if (secret == std::string_view::npos || name == 0 || name > kMaxHostName) return;
    std::string_view rest = line.substr(secret + 1);
    const auto uid = TakeNumber(rest);
    if (!uid || *uid > UINT32_MAX || !rest.starts_with(':') || users.size() >= kMaxUsers) return;
    users.try_emplace(static_cast<uint32_t>(*uid), line.substr(0, name));
  });
  return users;
}

std::string HostNames::User(uint32_t uid) {
  if (!users_) {
    // In a container that shares the host's process ids, process 1 has the host's files.
    auto text = ReadBounded(root_ + "/proc/1/root/etc/passwd", kPasswdBytes);
    if (!text.ok()) text = ReadBounded(root_ + "/etc/passwd", kPasswdBytes);
    users_ = ParsePasswd(text.ok() ? *text : "");
  }
  const auto user = users_->find(uid);
  return user == users_->end() ? "" : user->second;
}

std::string HostNames::Disk(uint64_t device) {
  const auto known = disks_.find(device);
  if (known != disks_.end()) return known->second;
  const std::string path = absl::StrCat(root_, "/sys/dev/block/", device >> kMinorBits, ":",
                                        device & ((1u << kMinorBits) - 1));
  char target[PATH_MAX];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  std::string_view name(target, length > 0 ? static_cast<size_t>(length) : 0);
  if (const size_t slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  std::string disk(name.size() <= kMaxHostName ? name : "");
  if (disks_.size() < kMaxDisks) disks_[device] = disk;
  return disk;
}

void HostNames::EndEpoch() {
  users_.reset();
  disks_.clear();
}

}  // namespace telltale::agent
