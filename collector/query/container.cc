#include "collector/query/container.h"

#include <algorithm>
#include <cstddef>

namespace telltale::query {
namespace {

constexpr size_t kIdDigits = 64;
constexpr size_t kUidLength = 36;        // 8-4-4-4-12 hexadecimal digits
constexpr size_t kStaticUidDigits = 32;  // of a pod from a file on the node
constexpr size_t kLongestName = 64;

bool IsHex(char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f'); }
bool AllHex(std::string_view text) { return std::ranges::all_of(text, IsHex); }

// "docker-ID.scope", "cri-containerd-ID.scope", "ID".
std::string IdIn(std::string_view part) {
  if (part.ends_with(".scope")) part.remove_suffix(6);
  if (part.size() < kIdDigits) return "";
  const std::string_view digits = part.substr(part.size() - kIdDigits);
  const std::string_view before = part.substr(0, part.size() - kIdDigits);
  if (!AllHex(digits) || (!before.empty() && before.back() != '-')) return "";
  return std::string(digits);
}

// "podUID", "kubepods-besteffort-podUID.slice"; systemd's names have _ for the dashes of the UID.
std::string PodIn(std::string_view part) {
  if (part.ends_with(".slice")) part.remove_suffix(6);
  const size_t at = part.starts_with("kubepods") ? part.rfind("-pod") : std::string_view::npos;
  if (at != std::string_view::npos) {
    part.remove_prefix(at + 4);
  } else if (part.starts_with("pod")) {
    part.remove_prefix(3);
  } else {
    return "";
  }
  if (part.size() == kStaticUidDigits && AllHex(part)) return std::string(part);
  if (part.size() != kUidLength) return "";
  std::string uid(part);
  for (size_t i = 0; i < uid.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? uid[i] != '-' && uid[i] != '_' : !IsHex(uid[i])) return "";
    if (dash) uid[i] = '-';
  }
  return uid;
}

std::string LxcName(std::string_view part, std::string_view parent) {
  constexpr std::string_view kPayload = "lxc.payload.";
  if (part.starts_with(kPayload)) return std::string(part.substr(kPayload.size(), kLongestName));
  return parent == "lxc" ? std::string(part.substr(0, kLongestName)) : "";
}

}  // namespace

Container ContainerOf(std::string_view cgroup_path) {
  Container found;
  std::string_view parent;
  while (!cgroup_path.empty()) {
    const size_t end = std::min(cgroup_path.find('/'), cgroup_path.size());
    const std::string_view part = cgroup_path.substr(0, end);
    cgroup_path.remove_prefix(std::min(end + 1, cgroup_path.size()));
    if (part.empty()) continue;
    if (std::string pod = PodIn(part); !pod.empty()) found.pod_uid = std::move(pod);
    // The innermost one: a container may run containers.
    if (std::string id = IdIn(part); !id.empty()) {
      found.id = std::move(id);
    } else if (std::string name = LxcName(part, parent); !name.empty()) {
      found.id = std::move(name);
    }
    parent = part;
  }
  return found;
}

}  // namespace telltale::query
