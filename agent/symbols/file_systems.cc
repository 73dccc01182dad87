#include "agent/symbols/file_systems.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/clock_ns.h"
#include "agent/host/mount_list.h"
#include "agent/host/proc_file.h"
#include "agent/symbols/block_device.h"
#include "agent/symbols/regular_file.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kMapsOf = 1ull << 63;  // no device has such a number
// A number without a block device behind it goes to another file system once it is free.
constexpr uint64_t kToldAgainNs = 60'000'000'000;
// Beyond this many that wait, all that may wait are taken for hung.
constexpr size_t kMostWaiting = 8;

// Served by a program, which may hang: on a block device ("fuseblk") as well.
constexpr std::string_view kServed = "fuse";
// Of those without a block device: what this kernel answers by itself.
constexpr std::array<std::string_view, 9> kOwnAnswer = {
    "btrfs", "tmpfs", "ramfs", "overlay", "zfs", "bcachefs", "rootfs", "hugetlbfs", "devtmpfs"};

// What may wait: looks the file up, opens and reads it.
void Touch(const std::string& path) {
  const int fd = OpenIfRegular(open(path.c_str(), kLookOnly), 0);
  if (fd < 0) return;
  char first = 0;
  // Whether it can be read is for the reader to find out.
  [[maybe_unused]] const ssize_t got = pread(fd, &first, 1, 0);
  close(fd);
}

std::vector<Mount> MountsOf(const std::string& root, uint32_t tgid) {
  const auto text = ReadBounded(absl::StrCat(root, "/proc/", tgid, "/mountinfo"), kMostMountBytes);
  return text.ok() ? ParseMounts(*text, kMostMounts) : std::vector<Mount>();
}

std::string DeviceText(uint64_t device) {
  return absl::StrCat(device >> 20, ":", device & ((1u << 20) - 1));
}

}  // namespace

struct FileSystems::Asked {
  std::mutex mutex;
  std::condition_variable changed;
  bool answered = false;
  std::string what;
};

FileSystems::FileSystems(Options options) : options_(std::move(options)), verdicts_(kDevices) {}

uint64_t FileSystems::DeviceOf(uint32_t tgid, std::string_view path) const {
  const std::vector<Mount> mounts = MountsOf(options_.root, tgid);
  const Mount* mount = MountOf(mounts, path);
  return mount == nullptr ? 0 : mount->device;
}

FileSystems::Verdict& FileSystems::VerdictOn(uint32_t tgid, uint64_t device, uint64_t now_ns) {
  if (Verdict* known = verdicts_.Find(device)) {
    if (now_ns - known->told_ns < kToldAgainNs) return *known;
  }
  const bool is_block = device >> 20 != 0;
  const std::vector<Mount> mounts = MountsOf(options_.root, tgid);
  Verdict verdict;
  verdict.may_wait = !is_block || !AnswersByItself(options_.root, device);
  verdict.type = is_block ? "block device" : "unknown type";
  verdict.told_ns = mounts.empty() ? 0 : now_ns;  // of a process that is gone: only for now
  for (const Mount& mount : mounts) {
    if (mount.device != device) continue;
    if (is_block) {
      verdict.may_wait = verdict.may_wait || mount.type.starts_with(kServed);
    } else {
      verdict.may_wait = std::ranges::find(kOwnAnswer, mount.type) == kOwnAnswer.end();
    }
    verdict.type = mount.type.substr(0, mount.type.find('.'));  // what is behind it anybody chose
    break;
  }
  return verdicts_.Put(device, std::move(verdict));
}

bool FileSystems::MayWait(uint32_t tgid, uint64_t device) {
  return VerdictOn(tgid, device, ClockNs(CLOCK_MONOTONIC)).may_wait;
}

bool FileSystems::IsStillAsked(uint64_t key) {
  std::erase_if(unanswered_, [](const auto& entry) {
    const std::lock_guard lock(entry.second->mutex);
    if (!entry.second->answered) return false;
    spdlog::info("symbols: {}: there is an answer again", entry.second->what);
    return true;
  });
  return unanswered_.contains(key);
}

bool FileSystems::AnswersInTime(uint64_t key, const std::string& what, const char* then,
                                const std::function<void()>& touch) {
  if (IsStillAsked(key) || unanswered_.size() >= kMostWaiting) return false;
  const auto asked = std::make_shared<Asked>();
  asked->what = what;
  try {
    std::thread([asked, touch] {
      touch();
      const std::lock_guard lock(asked->mutex);
      asked->answered = true;
      asked->changed.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    return false;  // no thread to be had: then nothing is risked
  }
  std::unique_lock lock(asked->mutex);
  if (asked->changed.wait_for(lock, options_.patience, [&] { return asked->answered; })) {
    return true;
  }
  lock.unlock();
  unanswered_[key] = asked;
  spdlog::warn("symbols: {}: no answer within {} ms; until there is one {}", what,
               options_.patience.count(), then);
  return false;
}

bool FileSystems::Answers(uint32_t tgid, uint64_t device, const std::string& path) {
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  Verdict& verdict = VerdictOn(tgid, device, now_ns);
  if (!verdict.may_wait) return true;
  if (now_ns - verdict.answered_ns < kBelievedNs && !IsStillAsked(device)) return true;
  const bool answers = AnswersInTime(
      device, absl::StrCat("file system ", DeviceText(device), " (", verdict.type, ")"),
      "functions of programs on it have no names, and stacks end there", [path] { Touch(path); });
  if (answers) verdict.answered_ns = ClockNs(CLOCK_MONOTONIC);
  return answers;
}

bool FileSystems::MapsAnswer(uint32_t tgid) {
  const std::string path = absl::StrCat(options_.root, "/proc/", tgid, "/maps");
  return AnswersInTime(kMapsOf | tgid, absl::StrCat("the memory map of process ", tgid),
                       "its functions have no names, and its stacks end",
                       [path] { (void)ReadBounded(path, 1); });
}

}  // namespace telltale::agent
