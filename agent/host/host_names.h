// What this host calls its users and its disks. Users are those of its passwd file: nobody else is
// asked, for a directory service that does not answer would hold the sensor up. Both are looked up
// anew each epoch. Belongs to the sensor thread.

#ifndef TELLTALE_AGENT_HOST_HOST_NAMES_H_
#define TELLTALE_AGENT_HOST_HOST_NAMES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace telltale::agent {

// "name:x:uid:...", the first of each uid; bounded.
std::map<uint32_t, std::string> ParsePasswd(std::string_view text);

class HostNames {
 public:
  // `root`: where proc, sys and etc are; empty for "/", or a test's directory.
  explicit HostNames(std::string root) : root_(std::move(root)) {}

  // Empty: it has none.
  std::string User(uint32_t uid);
  // `device`: the kernel's dev_t. "sda", "sda1" of a partition.
  std::string Disk(uint64_t device);
  void EndEpoch();

 private:
  const std::string root_;
  std::optional<std::map<uint32_t, std::string>> users_;
  std::map<uint64_t, std::string> disks_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_HOST_HOST_NAMES_H_
