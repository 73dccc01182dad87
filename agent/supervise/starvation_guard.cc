#include "agent/supervise/starvation_guard.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/host/proc_file.h"
#include "agent/host/process_files.h"
#include "agent/supervise/privileges.h"
#include "spdlog/spdlog.h"

namespace telltale::agent {
namespace {

constexpr size_t kStatBytes = 1024;

// A priority is no reason for what the thread starts to have it, too. Who has no privilege cannot
// take this flag away again, so it stays.
bool SetPolicy(pid_t thread, int policy, int priority) {
  const sched_param parameter = {.sched_priority = priority};
  return sched_setscheduler(thread, policy | SCHED_RESET_ON_FORK, &parameter) == 0;
}

std::string FileOf(pid_t thread, const char* name) {
  return absl::StrCat("/proc/self/task/", thread, "/", name);
}

// A thread's stat as it is now; empty: it has ended.
std::string_view ReadStat(const OwnedFd& file, std::array<char, kStatBytes>& text) {
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  return {text.data(), got > 0 ? static_cast<size_t>(got) : 0};
}

// CPU time so far. nullopt: it has ended, or this kernel does not keep it.
std::optional<uint64_t> RanNs(pid_t thread) {
  const auto text = ReadBounded(FileOf(thread, "schedstat"), kStatBytes);
  if (!text.ok()) return std::nullopt;
  std::string_view rest = *text;
  return TakeNumber(rest);
}

}  // namespace

StarvationGuard::StarvationGuard(Options options) : options_(options) {}

StarvationGuard::~StarvationGuard() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Status StarvationGuard::Start() {
  thread_ = std::thread([this] { Run(); });
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return ready_; });
  return started_;
}

StarvationGuard::Stats StarvationGuard::GetStats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void StarvationGuard::Run() {
  prctl(PR_SET_NAME, "telltale-guard");
  own_ = gettid();
  absl::Status started = BecomeGuard();
  if (started.ok() && !RanNs(own_)) {
    started = absl::UnavailableError("agent: this kernel keeps no /proc/PID/schedstat");
  }
  if (started.ok() && !SetPolicy(own_, SCHED_FIFO, options_.priority + 1)) {
    started = absl::PermissionDeniedError(
        absl::StrCat("agent: give its guard a real-time priority: ", std::strerror(errno),
                     "; it takes CAP_SYS_NICE, and cpu.rt_runtime_us in its cgroup"));
  }
  std::unique_lock lock(mutex_);
  started_ = started;
  ready_ = true;
  wake_.notify_all();
  if (!started.ok()) return;
  while (!stopping_) {
    lock.unlock();
    Look(Clock::now());
    const auto rest = AnyFirst() ? options_.first_for : options_.look_every;
    lock.lock();
    wake_.wait_for(lock, rest, [this] { return stopping_; });
  }
}

bool StarvationGuard::AnyFirst() const {
  return std::ranges::any_of(watched_, [](const auto& entry) {
    return entry.second.queued && entry.second.queued->first;
  });
}

// One that cannot be opened has ended.
void StarvationGuard::List() {
  std::map<pid_t, Watched> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    pid_t thread = 0;
    if (!absl::SimpleAtoi(entry.path().filename().native(), &thread) || thread == own_) continue;
    OwnedFd stat(open(FileOf(thread, "stat").c_str(), O_RDONLY | O_CLOEXEC));
    if (!stat.valid()) continue;
    const auto known = watched_.find(thread);
    found[thread] = {std::move(stat),
                     known == watched_.end() ? std::nullopt : known->second.queued};
  }
  watched_ = std::move(found);
}

void StarvationGuard::Look(Clock::time_point now) {
  std::array<char, kStatBytes> text;
  bool changed = watched_.empty();
  for (auto& [thread, watched] : watched_) {
    const std::string_view stat = ReadStat(watched.stat, text);
    // With the guard's own.
    changed = changed || ThreadCount(stat) != watched_.size() + 1;
    LookAt(thread, TaskState(stat) == 'R', watched.queued, now);
  }
  if (changed) List();
}

// `runnable`: in the queue or on a CPU.
void StarvationGuard::LookAt(pid_t thread, bool runnable, std::optional<Queued>& queued,
                             Clock::time_point now) {
  const std::optional<uint64_t> ran_ns = runnable ? RanNs(thread) : std::nullopt;
  if (!queued) {
    if (ran_ns) queued = {*ran_ns, now};
    return;
  }
  if (ran_ns == queued->ran_ns) {
    if (!queued->first) PutFirst(thread, *queued, now);
    return;
  }
  // It has run. If its thread ended meanwhile, nothing is left to be set.
  if (queued->first) SetPolicy(thread, SCHED_OTHER, 0);
  queued.reset();
}

void StarvationGuard::PutFirst(pid_t thread, Queued& queued, Clock::time_point now) {
  const auto starved = now - queued.since;
  if (starved < options_.look_every) return;
  queued.first = SetPolicy(thread, SCHED_RR, options_.priority);
  const int error = queued.first ? 0 : errno;
  Stats stats;
  {
    const std::lock_guard lock(mutex_);
    ++(queued.first ? stats_.rescues : stats_.refused);
    stats_.starved_ns += static_cast<uint64_t>(std::chrono::nanoseconds(starved).count());
    stats = stats_;
  }
  const uint64_t times = stats.rescues + stats.refused;
  if ((times & (times - 1)) != 0) return;  // 1, 2, 4 ...: the log is bounded, the count is told
  spdlog::warn(
      "agent: ordinary tasks of this host get no CPU: a thread of the sensor stood in the queue "
      "for {} ms and {} ({} times so far)",
      std::chrono::duration_cast<std::chrono::milliseconds>(starved).count(),
      queued.first ? "goes before others until it has run"
                   : absl::StrCat("may not go before others: ", std::strerror(error)),
      times);
}

}  // namespace telltale::agent
