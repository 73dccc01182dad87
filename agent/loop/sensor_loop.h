// The sensor thread: drains every 100 ms, or on a quiet host as seldom as the sensor allows; cuts
// when the schedule says so, drafts for the crash journal every few seconds (journal_pace.h), and
// tells each second while somebody looks. Never waits for disk or network: what it makes is handed
// to sinks that must not block.

#ifndef TELLTALE_AGENT_LOOP_SENSOR_LOOP_H_
#define TELLTALE_AGENT_LOOP_SENSOR_LOOP_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/loop/bell.h"
#include "agent/loop/cut_schedule.h"
#include "agent/loop/epoch_source.h"
#include "agent/loop/journal_pace.h"
#include "agent/spool/disk_writer.h"
#include "agent/uplink/clock.h"
#include "agent/uplink/hlc.h"

namespace telltale::agent {

class SensorLoop {
 public:
  struct Options {
    CutSchedule::Options schedule;
    // The shortest time between drafts; a quarter of an epoch if that is less (journal_pace.h).
    uint64_t journal_ms = 5'000;
    std::function<void(const v1::Live&)> on_second;  // must not block; may be empty
  };
  struct Stats {
    uint64_t epochs = 0, failed_cuts = 0;
    uint64_t rounds = 0;  // of the loop, one a second at least: it lives
    int64_t clock_offset_ns = 0;
    uint64_t clock_error_ns = 0;      // 0: unknown
    std::string problem;              // of the last failed step; empty while all is well
    std::vector<VitalStatus> vitals;  // two seconds ago at most
  };

  // All outlive the loop. `source` has been started.
  SensorLoop(const Options& options, EpochSource& source, const Clock& clock, DiskWriter& disk);
  ~SensorLoop();

  void Start();
  // Cuts the running epoch, marked short, hands it on and ends the thread.
  void Stop();

  // From the uplink; any thread.
  void SetClock(int64_t offset_ns, uint64_t error_ns);
  void MergeHlc(uint64_t stamp);
  void ForgetNamesSent();
  // Seconds are told for so long from now.
  void Watch(uint32_t seconds);

  Stats GetStats() const;

 private:
  struct Now {
    uint64_t wall_ns, mono_ns, collector_ns;
  };
  void Run();
  // Until it is time to drain, cut or draft, or the bell rings.
  void Wait(const Now& now);
  Now Read() const;
  EpochSource::Moment MomentAt(const Now& now, v1::EpochKind kind);
  bool Cut(v1::EpochKind kind);  // false: it goes on
  void Draft();
  void TellSecond(const Now& now);
  void TellVitals(uint64_t mono_ns);  // once a second
  enum class Step { kDrain, kCut, kDraft, kSecond };
  static constexpr size_t kSteps = 4;
  static std::string_view StepName(Step step);
  void Report(Step step, const absl::Status& status);

  const Options options_;
  JournalPace journal_;
  EpochSource& source_;
  const Clock& clock_;
  DiskWriter& disk_;
  CutSchedule schedule_;
  std::array<std::string, kSteps> problems_;  // by step; sensor thread
  uint64_t dropped_with_names_ = 0;
  uint64_t vitals_told_ns_ = 0;

  mutable std::mutex mutex_;
  Bell bell_;  // to be stopped, to be watched
  Hlc hlc_;
  bool forget_names_ = false;
  bool stopping_ = false;
  uint64_t watch_until_ns_ = 0;  // CLOCK_MONOTONIC
  Stats stats_;
  std::thread thread_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_LOOP_SENSOR_LOOP_H_
