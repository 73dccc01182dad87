#include "agent/host/mount_list.h"

#include <optional>
#include <utility>

#include "agent/host/proc_file.h"

namespace telltale::agent {
namespace {

// The kernel writes blanks, newlines and backslashes as three octal digits.
std::string WithoutEscapes(std::string_view word) {
  const auto digit = [&](size_t at) {
    return at < word.size() && word[at] >= '0' && word[at] < '8';
  };
  std::string out;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      out.push_back(static_cast<char>((word[i + 1] - '0') * 64 + (word[i + 2] - '0') * 8 +
                                      (word[i + 3] - '0')));
      i += 3;
    } else {
      out.push_back(word[i]);
    }
  }
  return out;
}

// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw"
std::optional<Mount> ParseMount(std::string_view line) {
  Mount mount;
  if (!TakeNumber(line) || !TakeNumber(line)) return std::nullopt;  // of it, of its parent
  const auto major = TakeNumber(line);
  if (!major || line.empty() || line.front() != ':') return std::nullopt;
  line.remove_prefix(1);
  const auto minor = TakeNumber(line);
  if (!minor) return std::nullopt;
  mount.device = *major << 20 | *minor;
  TakeWord(line);  // what of the file system is mounted
  mount.point = WithoutEscapes(TakeWord(line));
  for (std::string_view word = TakeWord(line); word != "-"; word = TakeWord(line)) {
    if (word.empty()) return std::nullopt;
  }
  mount.type = std::string(TakeWord(line));
  TakeWord(line);  // what it is made of
  mount.options = std::string(TakeWord(line));
  if (!mount.point.starts_with('/') || mount.type.empty()) return std::nullopt;
  return mount;
}

bool LeadsTo(std::string_view point, std::string_view path) {
  if (point == "/") return path.starts_with('/');
  return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

}  // namespace

std::vector<Mount> ParseMounts(std::string_view text, size_t limit) {
  std::vector<Mount> mounts;
  ForEachLine(text, [&](std::string_view line) {
    if (mounts.size() >= limit) return;
    if (std::optional<Mount> mount = ParseMount(line)) mounts.push_back(*std::move(mount));
  });
  return mounts;
}

const Mount* MountOf(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* found = nullptr;
  for (const Mount& mount : mounts) {
    if (!LeadsTo(mount.point, path)) continue;
    if (found == nullptr || mount.point.size() >= found->point.size()) found = &mount;
  }
  return found;
}

}  // namespace telltale::agent
