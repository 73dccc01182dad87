#include "collector/filter/detect/waits.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace telltale::filter {
namespace {

constexpr double kSpins = 0.8;             // CPUs
constexpr double kWorthAWord = 0.2;        // of all it waits
constexpr double kRounded = 1 + 1.0 / 64;  // what a value that travels may be more
constexpr uint32_t kStateDetail = 2;       // place of `state` among the details of `blocking`

constexpr WaitClass kClasses[] = {
    {"disk", nullptr, "a disk", false},
    {"uninterruptible", nullptr, "something inside the kernel", false},
    {"lock", "mutex", "a lock of the kernel", false},
    {"lock", "rwsem", "a lock of the kernel", false},
    {"lock", "futex", "a lock in its own memory (futex)", true},
    {"socket", nullptr, "a socket", true}};
constexpr const WaitClass& kDisk = kClasses[0];

Waits WaitsFor(const RuleEpoch& epoch, const telltale_filter_process& process,
               const WaitClass& of) {
  const double threads = Waiting(epoch, process, of, true) / 1e9;
  if (threads <= 0) return {};
  return {.most = &of,
          .threads = threads,
          .times = Waiting(epoch, process, of, false),
          .most_times = MostWaits(epoch, process, of),
          .what = of.what};
}

// Who runs does not wait. What the agent that sent the epoch does not tell of threads sets no
// limit.
Waits Possible(const RuleEpoch& epoch, const telltale_filter_process& process, Waits waits) {
  const double existed = epoch.Of(process, TELLTALE_PROCESS_TASK_NS) / 1e9;
  const double most = std::max(0.0, existed - Ran(epoch, process));
  // How long it existed is rounded down, and who waits throughout waits for about as long.
  const double possible = existed * kRounded - Ran(epoch, process);
  if (existed <= 0 || waits.threads <= possible) return waits;
  waits.estimated = std::exchange(waits.threads, most);
  return waits;
}

// Who holds the lock of the first wait that `fits`. The vital knows the owner of some by its
// number.
template <typename Fits>
Other HolderOf(const RuleEpoch& epoch, const WaitClass& of, const Fits& fits) {
  const telltale_filter_vital* locks = epoch.Vital("lock");
  if (of.lock == nullptr || locks == nullptr) return {};
  const int sub = RuleEpoch::SubOf(*locks, of.lock);
  for (const telltale_filter_label* label : epoch.Labels("lock")) {
    const telltale_filter_sample* sample = label->exemplar;
    if (sample == nullptr || static_cast<int>(label->sub) != sub || !fits(*label)) continue;
    if (sample->holder_pid != 0) {
      return {sample->holder_pid, sample->holder_tid, sample->holder_comm, true};
    }
    if (sample->details < 2 || sample->detail[1] == 0) continue;
    return {static_cast<uint32_t>(sample->detail[1]), 0, "", true};
  }
  return {};
}

Other ByItsWaits(const RuleEpoch& epoch, const telltale_filter_process& process,
                 const WaitClass& of) {
  const int sub = RuleEpoch::SubOf(*epoch.Vital("blocking"), of.sub);
  for (const telltale_filter_label* label : epoch.Labels("blocking")) {
    const telltale_filter_sample* wait = label->exemplar;
    if (wait == nullptr || wait->pid != process.pid) continue;
    if (static_cast<int>(label->sub) != sub) continue;
    if (wait->holder_pid != 0) return {wait->holder_pid, wait->holder_tid, wait->holder_comm, true};
    if (wait->waker_pid != 0) return {wait->waker_pid, 0, wait->waker_comm, false};
  }
  return {};
}

}  // namespace

const WaitClass& DiskWaits() { return kDisk; }

double Waiting(const RuleEpoch& epoch, const telltale_filter_process& process, const WaitClass& of,
               bool weight) {
  if (of.lock != nullptr) return epoch.Of(process, "lock", of.lock, weight);
  return epoch.Of(process, "blocking", of.sub, weight);
}

double MostWaits(const RuleEpoch& epoch, const telltale_filter_process& process,
                 const WaitClass& of) {
  if (of.lock != nullptr) return epoch.AtMost(process, "lock", of.lock, false);
  return epoch.AtMost(process, "blocking", of.sub, false);
}

double SampledWait(const RuleEpoch& epoch, const telltale_filter_process& process,
                   const WaitClass& of) {
  const int sub = RuleEpoch::SubOf(*epoch.Vital("blocking"), of.sub);
  double longest = 0;
  for (const telltale_filter_label* label : epoch.Labels("blocking")) {
    if (label->exemplar == nullptr || label->exemplar->pid != process.pid) continue;
    if (static_cast<int>(label->sub) != sub) continue;
    longest = std::max(longest, Took(*label->exemplar, kStateDetail));
  }
  return longest;
}

double Ran(const RuleEpoch& epoch, const telltale_filter_process& process) {
  return epoch.Of(process, TELLTALE_PROCESS_RUN_NS) / 1e9;
}

Waits ByChoice(const RuleEpoch& epoch, const telltale_filter_process& process) {
  Waits most;
  for (const WaitClass& of : kClasses) {
    if (!of.by_choice) continue;
    Waits waits = WaitsFor(epoch, process, of);
    if (waits.threads > most.threads) most = std::move(waits);
  }
  return Possible(epoch, process, std::move(most));
}

Waits Forced(const RuleEpoch& epoch, const telltale_filter_process& process) {
  Waits disk, inside;
  for (const WaitClass& of : kClasses) {
    if (of.by_choice) continue;
    Waits waits = WaitsFor(epoch, process, of);
    Waits& part = &of == &kDisk ? disk : inside;
    if (waits.threads > part.threads) part = std::move(waits);
  }
  const bool on_disk = disk.threads > inside.threads;
  Waits all = on_disk ? disk : inside;
  const Waits& rest = on_disk ? inside : disk;
  all.threads += rest.threads;
  all.times += rest.times;
  all.most_times += rest.most_times;
  if (rest.threads > kWorthAWord * all.threads) absl::StrAppend(&all.what, " and ", rest.what);
  return Possible(epoch, process, std::move(all));
}

Other OtherOf(const RuleEpoch& epoch, const telltale_filter_process& process, const WaitClass& of) {
  Other own = HolderOf(epoch, of, [&](const telltale_filter_label& label) {
    return label.exemplar->pid == process.pid;
  });
  if (own.pid == 0) own = ByItsWaits(epoch, process, of);
  // A lock of its own memory may be another one in each process.
  if (own.holds || of.by_choice) return own;
  Other another = HolderOf(epoch, of, [&](const telltale_filter_label& label) {
    return label.uid == process.uid && std::strcmp(label.exe, process.exe) == 0;
  });
  another.of_another = true;
  return another.pid != 0 ? another : own;
}

WaitPlace PlaceOfLabel(const telltale_filter_label& label) {
  constexpr uint32_t kCallValue = 1;  // place of `syscall`
  WaitPlace place;
  if (label.values > kCallValue) place.call = label.value[kCallValue];
  if (label.exemplar != nullptr) place.site = label.exemplar->wait_site;
  return place;
}

WaitPlace SampledPlace(const RuleEpoch& epoch, const telltale_filter_process& process,
                       uint32_t sub) {
  WaitPlace place;
  for (const telltale_filter_label* label : epoch.Labels("blocking")) {
    if (label->exemplar == nullptr || label->exemplar->pid != process.pid) continue;
    if (label->sub != sub) continue;
    const WaitPlace of_one = PlaceOfLabel(*label);
    if (place.call == 0) place.call = of_one.call;
    if (place.site.empty()) place.site = of_one.site;
  }
  return place;
}

std::string SiteText(const std::string& site) {
  if (site.empty()) return "";
  const size_t caller = site.find(" < ");
  if (caller == std::string::npos) return absl::StrCat(", in ", site);
  return absl::StrCat(", in ", site.substr(0, caller), ", called by ", site.substr(caller + 3));
}

uint64_t DiskOf(const RuleEpoch& epoch, const telltale_filter_process& process) {
  constexpr uint32_t kDeviceValue = 2;  // place of `device` in the label
  std::set<uint64_t> any;
  for (const telltale_filter_label* label : epoch.Labels("disk_io")) {
    if (label->values <= kDeviceValue || label->value[kDeviceValue] == 0) continue;
    const uint64_t device = label->value[kDeviceValue];
    if (label->uid == process.uid && std::strcmp(label->exe, process.exe) == 0) return device;
    any.insert(device);
  }
  return any.size() == 1 ? *any.begin() : 0;
}

std::string WhatText(const RuleEpoch& epoch, const telltale_filter_process& process,
                     const Waits& waits) {
  if (waits.most != &kDisk) return waits.what;
  return absl::StrReplaceAll(waits.what, {{kDisk.what, DiskText(epoch, DiskOf(epoch, process))}});
}

std::string StuckBy(const RuleEpoch& epoch, const telltale_filter_process& process) {
  const Waits waits = Forced(epoch, process);
  if (waits.threads >= kWaiting) {
    return absl::StrCat("itself waiting for ", WhatText(epoch, process, waits));
  }
  const double queued = epoch.Of(process, TELLTALE_PROCESS_QUEUE_NS) / 1e9;
  if (queued >= kWaiting && Ran(epoch, process) < queued) return "itself held from the CPU";
  if (Ran(epoch, process) >= kSpins) {
    return absl::StrFormat("which runs all the time, on %.3g CPUs", Ran(epoch, process));
  }
  const double asleep = epoch.Of(process, "blocking", "timer", true) / 1e9;
  if (asleep >= kWaiting) return "asleep on a timer meanwhile";
  return "";
}

std::string OtherText(const RuleEpoch& epoch, const Other& other,
                      const telltale_filter_process& waits) {
  if (other.pid == 0) return "";
  if (other.pid == waits.pid) {
    if (other.of_another) return ProcessText(waits);
    if (other.tid == 0) return "another thread of its own";
    return absl::StrCat("its own thread ", other.comm, " (tid ", other.tid, ")");
  }
  const telltale_filter_process* process = epoch.Process(other.pid);
  if (process != nullptr) return ProcessText(*process);
  return other.comm.empty() ? absl::StrCat("pid ", other.pid)
                            : absl::StrCat(other.comm, " (pid ", other.pid, ")");
}

std::string StuckText(const RuleEpoch& epoch, const Other& other,
                      const telltale_filter_process& waits) {
  const telltale_filter_process* process =
      other.pid == waits.pid ? nullptr : epoch.Process(other.pid);
  return process == nullptr ? "" : StuckBy(epoch, *process);
}

std::string Named(const RuleEpoch& epoch, const Other& other,
                  const telltale_filter_process& waits) {
  if (other.pid == 0) return "";
  const std::string begins = other.of_another
                                 ? "; what another of its program waits for is held by "
                             : other.holds ? "; it is held by "
                                           : "; its waits are ended by ";
  const std::string stuck = StuckText(epoch, other, waits);
  return absl::StrCat(begins, OtherText(epoch, other, waits), stuck.empty() ? "" : ", ", stuck);
}

}  // namespace telltale::filter
