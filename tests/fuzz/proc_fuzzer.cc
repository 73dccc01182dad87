// Feeds arbitrary text to the parsers of /proc: processes choose much of what stands there. The
// first byte chooses the file:
//   'm' maps   's' stat   'u' status   'c' cgroup   of a process
//   'i' mountinfo of a process; mount points are names that anybody may have chosen
//   't' cpu.stat of a cgroup   'p' passwd
//   'h' what the host says of itself: meminfo, buddyinfo, loadavg, stat, pressure, cpu lists, ids
//
// Built as a libFuzzer target when the compiler is clang; its corpus is replayed by
// corpus_test.cc with any compiler.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/host/gauges.h"
#include "agent/host/host_names.h"
#include "agent/host/mount_list.h"
#include "agent/host/node_info.h"
#include "agent/host/process_files.h"
#include "agent/host/process_terms.h"
#include "agent/symbols/proc_maps.h"

namespace {

using namespace telltale;
using namespace telltale::agent;

void Require(bool fact) {
  if (!fact) std::abort();
}

void ReadMaps(std::string_view text) {
  constexpr size_t kLimit = 50;
  const auto regions = ParseMaps(text, kLimit);
  Require(regions.size() <= kLimit);
  uint64_t last = 0;
  for (const MappedRegion& region : regions) {
    Require(region.start >= last && region.end > region.start && region.path.size() <= 4'096);
    Require(FindRegion(regions, region.start) == &region);
    Require(FindRegion(regions, region.end - 1) == &region);
    last = region.end;
  }
}

void ReadMounts(std::string_view text) {
  constexpr size_t kLimit = 50;
  const auto mounts = ParseMounts(text, kLimit);
  Require(mounts.size() <= kLimit);
  for (const Mount& mount : mounts) {
    Require(mount.point.starts_with('/') && !mount.type.empty());
    const Mount* over = MountOf(mounts, mount.point);
    Require(over != nullptr && over->point == mount.point);
  }
  const CpuHierarchy limits = ParseCpuHierarchy(text);
  Require(limits.mount.empty() || limits.mount.starts_with('/'));
}

void ReadUsers(std::string_view text) {
  for (const auto& [uid, name] : ParsePasswd(text)) {
    Require(!name.empty() && name.size() <= 64 && name.find(':') == std::string::npos);
  }
}

void ReadHost(std::string_view text) {
  v1::Gauges gauges;
  ParseMeminfo(text, &gauges);
  ParseBuddyinfo(text, &gauges);
  ParseLoadavg(text, &gauges);
  Require(gauges.free_blocks_size() <= 32);
  ParseStat(text);
  ParsePressure(text);
  Require(CountCpuList(text) <= 65'536);
  Require(PrettyName(text).size() <= text.size());
  const size_t uuid = UuidBytes(text).size();
  Require(uuid == 0 || uuid == 16);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 1 << 20) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'm':
      ReadMaps(text);
      break;
    case 's':
      StartTicks(text);
      ParseProcessStat(text);
      break;
    case 'u':
      ParseProcessStatus(text);
      break;
    case 'c':
      Require(CgroupOf(text).size() <= text.size());
      Require(CpuCgroupOf(text, true).size() <= text.size());
      Require(CpuCgroupOf(text, false).size() <= text.size());
      break;
    case 'i':
      ReadMounts(text);
      break;
    case 't':
      ParseCpuStat(text);
      break;
    case 'p':
      ReadUsers(text);
      break;
    case 'h':
      ReadHost(text);
      break;
    default:
      break;
  }
  return 0;
}
