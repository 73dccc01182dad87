#include "agent/host/node_info.h"

#include <dirent.h>
#include <openssl/hmac.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/host/gauges.h"
#include "agent/host/proc_file.h"
#include "proto/codec.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxFileBytes = 64 * 1024;
constexpr size_t kFieldBytes = 256;
constexpr size_t kMaxInterfaces = 4'096;

std::string Line(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadBounded(path, kMaxFileBytes);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

// Hardware address of the first interface by name that has one.
std::string FirstMac(const std::string& root) {
  const std::string folder = root + "/sys/class/net";
  std::vector<std::string> names;
  if (DIR* dir = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(dir)) {
      if (names.size() < kMaxInterfaces) names.emplace_back(entry->d_name);
    }
    closedir(dir);
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const std::string mac = Line(absl::StrCat(folder, "/", name, "/address"));
    if (!mac.empty() && mac != "00:00:00:00:00:00") return mac;
  }
  return "";
}

// Tells machines apart that share a certificate, without telling anybody their serial numbers.
std::string Fingerprint(const std::string& root) {
  const std::string what = absl::StrCat(Line(root + "/etc/machine-id"), "\n", FirstMac(root), "\n",
                                        Line(root + "/sys/class/dmi/id/product_uuid"));
  if (what == "\n\n") return "";
  constexpr std::string_view kKey = "telltale machine fingerprint";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  HMAC(EVP_sha256(), kKey.data(), static_cast<int>(kKey.size()),
       reinterpret_cast<const unsigned char*>(what.data()), what.size(), digest, &length);
  return std::string(reinterpret_cast<const char*>(digest), 8);
}

}  // namespace

uint32_t CountCpuList(std::string_view list) {
  constexpr uint64_t kMaxCpus = 65'536;
  uint64_t count = 0;
  while (!list.empty()) {
    const auto first = TakeNumber(list);
    if (!first) break;
    auto last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      last = TakeNumber(list);
    }
    if (!last || *last < *first) break;
    count = std::min(kMaxCpus, count + std::min(kMaxCpus, *last - *first) + 1);
    if (!list.starts_with(',')) break;
    list.remove_prefix(1);
  }
  return static_cast<uint32_t>(count);
}

std::string PrettyName(std::string_view os_release) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  std::string name;
  ForEachLine(os_release, [&](std::string_view line) {
    if (!line.starts_with(kKey)) return;
    line.remove_prefix(kKey.size());
    if (line.size() >= 2 && line.front() == line.back() && (line[0] == '"' || line[0] == '\'')) {
      line = line.substr(1, line.size() - 2);
    }
    name = line;
  });
  return name;
}

std::string UuidBytes(std::string_view text) {
  std::string bytes;
  int nibble = -1;
  for (const char c : text) {
    if (c == '-') continue;
    int value;
    if (c >= '0' && c <= '9') {
      value = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      value = c - 'a' + 10;
    } else {
      break;
    }
    if (nibble < 0) {
      nibble = value;
    } else {
      bytes.push_back(static_cast<char>(nibble << 4 | value));
      nibble = -1;
    }
    if (bytes.size() > 16) return "";
  }
  return bytes.size() == 16 && nibble < 0 ? bytes : "";
}

v1::NodeInfo ReadNodeInfo(const std::string& root, const v1::NodeInfo* before) {
  const auto clean = [](const std::string& text) { return proto::SanitizeText(text, kFieldBytes); };
  v1::NodeInfo info;
  info.set_kernel_release(clean(Line(root + "/proc/sys/kernel/osrelease")));
  info.set_kernel_version(clean(Line(root + "/proc/sys/kernel/version")));
  utsname name{};
  if (uname(&name) == 0) info.set_machine(clean(name.machine));
  const absl::StatusOr<std::string> release = ReadBounded(root + "/etc/os-release", kMaxFileBytes);
  if (release.ok()) info.set_distribution(clean(PrettyName(*release)));
  info.set_cpus_possible(CountCpuList(Line(root + "/sys/devices/system/cpu/possible")));
  info.set_cpus_online(CountCpuList(Line(root + "/sys/devices/system/cpu/online")));
  const absl::StatusOr<std::string> meminfo = ReadBounded(root + "/proc/meminfo", kMaxFileBytes);
  v1::Gauges gauges;
  if (meminfo.ok()) ParseMeminfo(*meminfo, &gauges);
  info.set_memory_bytes(gauges.memory_total_bytes());
  info.set_boot_id(before != nullptr ? before->boot_id()
                                     : UuidBytes(Line(root + "/proc/sys/kernel/random/boot_id")));
  info.set_machine_fingerprint(before != nullptr ? before->machine_fingerprint()
                                                 : Fingerprint(root));
  info.set_clock_source(
      clean(Line(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource")));
  info.set_page_size(static_cast<uint32_t>(sysconf(_SC_PAGESIZE)));
  return info;
}

}  // namespace telltale::agent
