#include "agent/host/process_terms.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/mount_list.h"
#include "agent/host/proc_file.h"

namespace telltale::agent {
namespace {

constexpr size_t kTermsBytes = 64 * 1024;
constexpr size_t kMaxCgroups = 256, kMaxDepth = 16;
constexpr uint64_t kMaxCount = uint64_t{1} << 47;
constexpr uint32_t kMaxPolicy = 63, kMaxPriority = 99;

uint64_t Grown(uint64_t before, uint64_t now) { return now > before ? now - before : 0; }

std::string Text(const std::string& path, size_t limit) {
  auto text = ReadBounded(path, limit);
  return text.ok() ? *std::move(text) : "";
}

}  // namespace

std::optional<CpuLimitCounts> ParseCpuStat(std::string_view text) {
  std::optional<CpuLimitCounts> counts;
  ForEachLine(text, [&counts](std::string_view line) {
    const std::string_view key = TakeWord(line);
    const auto value = TakeNumber(line);
    if (!value || *value > kMaxCount * 1'000) return;
    if (key == "nr_throttled") {
      if (!counts) counts.emplace();
      counts->periods = *value;
    }
    if (counts && key == "throttled_usec" && *value <= kMaxCount) counts->ns = *value * 1'000;
    if (counts && key == "throttled_time") counts->ns = *value;
  });
  return counts;
}

CpuHierarchy ParseCpuHierarchy(std::string_view mountinfo) {
  CpuHierarchy unified{"", true}, first;
  for (const Mount& mount : ParseMounts(mountinfo, kMostMounts)) {
    if (mount.type == "cgroup2" && unified.mount.empty()) unified.mount = mount.point;
    if (mount.type == "cgroup" && HasWord(mount.options, "cpu") && first.mount.empty())
      first.mount = mount.point;
  }
  return first.mount.empty() ? unified : first;
}

std::string CpuCgroupOf(std::string_view cgroup, bool unified) {
  std::string path;
  ForEachLine(cgroup, [&](std::string_view line) {  // "4:cpu,cpuacct:/path", "0::/path"
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos || !path.empty()) return;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : HasWord(controllers, "cpu")) path = line.substr(second + 1);
  });
  return path;
}

ProcessTermsReader::ProcessTermsReader(std::string root)
    : root_(std::move(root)),
      hierarchy_(ParseCpuHierarchy(Text(root_ + "/proc/self/mountinfo", kMostMountBytes))) {}

const ProcessTermsReader::Cgroup* ProcessTermsReader::Ask(const std::string& path) {
  const auto known = cgroups_.find(path);
  if (known != cgroups_.end() && known->second.asked) return &known->second;
  if (known == cgroups_.end() && cgroups_.size() >= kMaxCgroups) return nullptr;
  Cgroup& cgroup = known == cgroups_.end() ? cgroups_[path] : known->second;
  cgroup.asked = true;
  const auto counts =
      ParseCpuStat(Text(absl::StrCat(root_, hierarchy_.mount, path, "/cpu.stat"), kTermsBytes));
  cgroup.now = counts.value_or(CpuLimitCounts{});
  return &cgroup;
}

ProcessTerms ProcessTermsReader::Of(uint32_t pid) {
  ProcessTerms terms;
  const std::string proc = absl::StrCat(root_, "/proc/", pid);
  // The name in parentheses may hold anything: fields count from the last parenthesis.
  const std::string stat = Text(proc + "/stat", kTermsBytes);
  std::string_view fields = stat;
  const size_t name_end = fields.rfind(')');
  if (name_end == std::string_view::npos) return terms;
  fields.remove_prefix(name_end + 1);
  for (int field = 3; field < 40; ++field) TakeWord(fields);
  const auto priority = TakeNumber(fields), policy = TakeNumber(fields);
  if (priority && *priority <= kMaxPriority) terms.real_time_priority = *priority;
  if (policy && *policy <= kMaxPolicy) terms.policy = *policy;
  if (hierarchy_.mount.empty()) return terms;

  std::string path = CpuCgroupOf(Text(proc + "/cgroup", kTermsBytes), hierarchy_.unified);
  if (path.find("/../") != std::string::npos) return terms;  // outside what is mounted here
  for (size_t depth = 0; path.size() > 1 && depth < kMaxDepth; ++depth) {
    if (const Cgroup* cgroup = Ask(path); cgroup != nullptr && cgroup->known) {
      const CpuLimitCounts in_epoch{Grown(cgroup->begin.periods, cgroup->now.periods),
                                    Grown(cgroup->begin.ns, cgroup->now.ns)};
      if (in_epoch.periods > 0 && in_epoch.ns > terms.throttled.ns) {
        terms.cgroup = path;
        terms.throttled = in_epoch;
      }
    }
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  return terms;
}

void ProcessTermsReader::EndEpoch() {
  std::erase_if(cgroups_, [](const auto& entry) { return !entry.second.asked; });
  for (auto& [path, cgroup] : cgroups_) {
    cgroup.begin = cgroup.now;
    cgroup.known = true;
    cgroup.asked = false;
  }
}

}  // namespace telltale::agent
