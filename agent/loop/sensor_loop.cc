#include "agent/loop/sensor_loop.h"

#include <malloc.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <utility>

#include "agent/clock_ns.h"
#include "sketch/time_units.h"
#include "spdlog/spdlog.h"

namespace telltale::agent {

std::string_view SensorLoop::StepName(Step step) {
  constexpr std::array<std::string_view, kSteps> kNames = {"draining", "cutting an epoch",
                                                           "drafting an epoch", "telling a second"};
  return kNames[static_cast<size_t>(step)];
}

SensorLoop::SensorLoop(const Options& options, EpochSource& source, const Clock& clock,
                       DiskWriter& disk)
    : options_(options),
      journal_(options.journal_ms * kNsPerMs, options.schedule.length_s),
      source_(source),
      clock_(clock),
      disk_(disk),
      schedule_(options.schedule) {}

SensorLoop::~SensorLoop() { Stop(); }

void SensorLoop::Start() {
  thread_ = std::thread([this] { Run(); });
}

void SensorLoop::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  bell_.Ring();
  if (thread_.joinable()) thread_.join();
}

void SensorLoop::SetClock(int64_t offset_ns, uint64_t error_ns) {
  const std::lock_guard lock(mutex_);
  stats_.clock_offset_ns = offset_ns;
  stats_.clock_error_ns = error_ns;
}

void SensorLoop::MergeHlc(uint64_t stamp) {
  const std::lock_guard lock(mutex_);
  hlc_.Merge(stamp, clock_.WallNs());
}

void SensorLoop::ForgetNamesSent() {
  const std::lock_guard lock(mutex_);
  forget_names_ = true;
}

void SensorLoop::Watch(uint32_t seconds) {
  const uint64_t until = clock_.MonoNs() + seconds * 1'000 * kNsPerMs;
  const std::lock_guard lock(mutex_);
  watch_until_ns_ = until;
  bell_.Ring();
}

SensorLoop::Stats SensorLoop::GetStats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

SensorLoop::Now SensorLoop::Read() const {
  const std::lock_guard lock(mutex_);
  const ClockPair now = ReadTogether(clock_);
  return {now.wall_ns, now.mono_ns, now.wall_ns + static_cast<uint64_t>(stats_.clock_offset_ns)};
}

EpochSource::Moment SensorLoop::MomentAt(const Now& now, v1::EpochKind kind) {
  const DiskWriter::Stats disk = disk_.GetStats();
  const std::lock_guard lock(mutex_);
  EpochSource::Moment moment;
  moment.kind = kind;
  moment.clock.wall_minus_mono_ns = static_cast<int64_t>(now.wall_ns - now.mono_ns);
  moment.clock.offset_ns = stats_.clock_offset_ns;
  moment.clock.error_ns = stats_.clock_error_ns;
  moment.clock.hlc = hlc_.Now(now.wall_ns);
  moment.spool_bytes = disk.bytes;
  moment.spool_records = disk.records;
  moment.unspooled = disk.held + disk.waiting;
  return moment;
}

void SensorLoop::Wait(const Now& now) {
  const SensorRest rest = source_.Rest(now.mono_ns);
  const uint64_t draft = journal_.at_ns() > now.mono_ns ? journal_.at_ns() - now.mono_ns : 0;
  const uint64_t ns = std::min({rest.ns, draft, schedule_.WaitNs(now.mono_ns, now.collector_ns)});
  const timespec wait = {static_cast<time_t>(ns / kNsPerS), static_cast<long>(ns % kNsPerS)};
  pollfd fds[] = {{bell_.fd(), POLLIN, 0}, {rest.fd, POLLIN, 0}};  // poll leaves out what is -1
  ppoll(fds, std::size(fds), &wait, nullptr);
  bell_.Clear();
}

void SensorLoop::Run() {
  Now now = Read();
  schedule_.Begin(now.mono_ns, now.collector_ns);
  journal_.Begin(now.mono_ns);
  while (true) {
    Wait(now);
    bool forget_names = false, stopping = false;
    uint64_t watch_until_ns = 0;
    {
      const std::lock_guard lock(mutex_);
      ++stats_.rounds;
      stopping = stopping_;
      forget_names = std::exchange(forget_names_, false);
      watch_until_ns = watch_until_ns_;
    }
    source_.WatchUntil(watch_until_ns);
    if (forget_names) source_.ForgetNamesSent();
    now = Read();
    TellSecond(now);
    const auto kind = schedule_.Due(now.mono_ns, now.collector_ns);
    if (stopping) {
      Cut(v1::EPOCH_KIND_SHORT);
      return;
    }
    if (kind) {
      const bool ended = Cut(*kind);
      now = Read();
      if (!ended) {
        schedule_.Postpone(now.mono_ns);
        continue;
      }
      schedule_.Begin(now.mono_ns, now.collector_ns);
      journal_.Begin(now.mono_ns);
      continue;
    }
    Report(Step::kDrain, source_.Drain());
    TellVitals(now.mono_ns);
    if (now.mono_ns >= journal_.at_ns()) {
      const uint64_t before = ClockNs(CLOCK_THREAD_CPUTIME_ID);
      Draft();
      journal_.Drafted(now.mono_ns, ClockNs(CLOCK_THREAD_CPUTIME_ID) - before);
    }
    now = Read();
  }
}

bool SensorLoop::Cut(v1::EpochKind kind) {
  // Records with names that never reach the collector take their names along.
  const DiskWriter::Stats disk = disk_.GetStats();
  const uint64_t dropped = disk.counts.dropped_full + disk.counts.dropped_corrupt +
                           disk.counts.refused + disk.lost_in_memory;
  if (std::exchange(dropped_with_names_, dropped) != dropped) source_.ForgetNamesSent();
  auto epoch = source_.Cut(MomentAt(Read(), kind));
  Report(Step::kCut, epoch.status());
  const bool ended = epoch.ok() || absl::IsDataLoss(epoch.status());
  if (epoch.ok()) disk_.Submit(*std::move(epoch));
  malloc_trim(0);  // what the epoch held
  const std::lock_guard lock(mutex_);
  ++(epoch.ok() ? stats_.epochs : stats_.failed_cuts);
  return ended;
}

void SensorLoop::Draft() {
  auto draft = source_.Draft(MomentAt(Read(), v1::EPOCH_KIND_PARTIAL));
  Report(Step::kDraft, draft.status());
  if (draft.ok()) disk_.SubmitJournal(*std::move(draft));
}

void SensorLoop::TellSecond(const Now& now) {
  const auto second =
      source_.NewSecond(now.mono_ns, static_cast<int64_t>(now.wall_ns - now.mono_ns));
  Report(Step::kSecond, second.status());
  if (second.ok() && second->has_value() && options_.on_second) options_.on_second(**second);
}

// The governor may turn down what is watched, or take it back, with any drain.
void SensorLoop::TellVitals(uint64_t mono_ns) {
  if (mono_ns < vitals_told_ns_ + kNsPerS) return;
  vitals_told_ns_ = mono_ns;
  std::vector<VitalStatus> vitals = source_.Status();
  const std::lock_guard lock(mutex_);
  stats_.vitals = std::move(vitals);
}

// Says a problem when it begins, changes and ends; the thread goes on, the next epoch may work.
void SensorLoop::Report(Step step, const absl::Status& status) {
  std::string& problem = problems_[static_cast<size_t>(step)];
  if (status.message() == problem) return;
  problem = std::string(status.message());
  if (status.ok()) {
    spdlog::info("sensor: {} works again", StepName(step));
  } else {
    spdlog::error("{}", problem);
  }
  const auto first = std::ranges::find_if_not(problems_, &std::string::empty);
  const std::lock_guard lock(mutex_);
  stats_.problem = first == problems_.end() ? "" : *first;
}

}  // namespace telltale::agent
