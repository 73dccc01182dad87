#include "agent/sensor/cgroup_scope.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/mount_list.h"
#include "agent/host/proc_file.h"
#include "agent/sensor/control_words.h"
#include "sketch/time_units.h"
#include "spdlog/spdlog.h"

namespace telltale::agent {
namespace {

const char* NameOf(bool unified) { return unified ? "version 2" : "version 1, controller memory"; }

}  // namespace

absl::StatusOr<std::string> CgroupMount(std::string_view mountinfo, bool unified) {
  for (const Mount& mount : ParseMounts(mountinfo, kMostMounts)) {
    if (mount.type != (unified ? "cgroup2" : "cgroup")) continue;
    if (unified || HasWord(mount.options, "memory")) return mount.point;
  }
  return absl::NotFoundError(
      absl::StrCat("the cgroup hierarchy (", NameOf(unified), ") is mounted nowhere here"));
}

absl::StatusOr<uint64_t> CgroupIdOf(const std::string& directory) {
  struct stat info = {};
  struct statfs system = {};
  if (stat(directory.c_str(), &info) != 0 || statfs(directory.c_str(), &system) != 0) {
    return absl::NotFoundError(absl::StrCat(directory, ": ", std::strerror(errno)));
  }
  const auto type = static_cast<uint64_t>(system.f_type);
  if (!S_ISDIR(info.st_mode) || (type != CGROUP_SUPER_MAGIC && type != CGROUP2_SUPER_MAGIC)) {
    return absl::NotFoundError(absl::StrCat(directory, " is no cgroup"));
  }
  return static_cast<uint64_t>(info.st_ino);
}

absl::Status CgroupScope::Begin(telltale_control& control) {
  const bool unified = control.cgroup_subsys == kUnifiedCgroups;
  const auto refused = [&](const absl::Status& why) {
    return absl::NotFoundError(absl::StrCat(
        "sensor: scope cgroup:", path_, ": ", why.message(),
        "; the path is that below the root "
        "of the hierarchy (",
        NameOf(unified),
        "), as /proc/PID/cgroup of one of its processes "
        "shows it; create the cgroup before the agent starts, or set sensor.scope: host"));
  };
  const auto mounts = ReadBounded("/proc/self/mountinfo", kMostMountBytes);
  if (!mounts.ok()) return refused(mounts.status());
  const auto mount = CgroupMount(*mounts, unified);
  if (!mount.ok()) return refused(mount.status());
  directory_ = *mount + path_;
  const auto id = CgroupIdOf(directory_);
  if (!id.ok()) return refused(id.status());
  control.scope_level = TELLTALE_LEVEL_UNKNOWN;
  control.scope_cgroup = *id;
  return absl::OkStatus();
}

void CgroupScope::Look(uint64_t mono_ns, telltale_control& control) {
  if (mono_ns - looked_ns_ < kNsPerS) return;
  looked_ns_ = mono_ns;
  const auto id = CgroupIdOf(directory_);
  if (!id.ok()) {
    if (!std::exchange(gone_, true)) spdlog::warn("sensor: {}", Problem());
    return;
  }
  const bool is_new = *id != control.scope_cgroup;
  if (is_new || gone_) spdlog::info("sensor: cgroup {} is there again, and watched", path_);
  gone_ = false;
  if (!is_new) return;
  std::atomic_ref<uint64_t>(control.scope_cgroup).store(*id, std::memory_order_seq_cst);
  control.scope_level = TELLTALE_LEVEL_UNKNOWN;
}

std::string CgroupScope::Problem() const {
  return absl::StrCat("cgroup ", path_, " was removed; it is watched again once it is there");
}

std::string CgroupScope::WhyNothing(std::string_view object) const {
  if (object != "irq" && object != "retransmit") return "";
  return absl::StrCat("interrupts belong to the host, not to cgroup ", path_);
}

void CgroupScope::AddTo(std::vector<VitalStatus>& status) const {
  for (VitalStatus& of : status) {
    if (!gone_ || of.hook.empty()) continue;
    of.state = VitalState::kDegraded;
    absl::StrAppend(&of.reason, of.reason.empty() ? "" : "; ", Problem());
  }
}

}  // namespace telltale::agent
