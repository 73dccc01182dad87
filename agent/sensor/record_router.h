// Drains the kernel's ring buffer and hands each record where it belongs: samples and events to the
// agent's sink, last rows of tasks to the process table. A record is tagged with the half of
// counters its epoch used; one that already belongs to the next epoch is held back until the next
// drain. The copy of a sample's user stack comes later in the ring: the sample waits for it, the
// copy is unwound where it lies and is gone with its record. Owned by the sensor, its thread only.
// Held back at most: what the ring holds.

#ifndef TELLTALE_AGENT_SENSOR_RECORD_ROUTER_H_
#define TELLTALE_AGENT_SENSOR_RECORD_ROUTER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/sensor/process_table.h"
#include "agent/sensor/record_ring.h"
#include "agent/sensor/sensor.h"
#include "agent/sensor/stack_trimmer.h"
#include "agent/sensor/user_unwinder.h"
#include "sketch/layout.h"

namespace telltale::agent {

// What drains of the ring took; CPU ns of the sensor's thread.
struct DrainUse {
  uint64_t samples = 0;  // of CPUs' events; made whole, of these records or of earlier ones
  uint64_t records = 0;
  uint64_t rows = 0;             // of the records: last rows of tasks
  uint64_t execs = 0;            // of the records
  uint64_t process_records = 0;  // of the records: execs, exits, deaths for want of memory
  uint64_t brief_lives = 0;      // not followed, of which few of the records tell
  uint64_t thread_ns = 0;
  uint64_t unwind_ns = 0;  // of it
  uint64_t table_ns = 0;   // of that: done once for a file
  uint64_t unwound = 0;    // stacks
};

class RecordRouter {
 public:
  // `unwinder`: may be null; then there must be no copies.
  explicit RecordRouter(std::shared_ptr<UserUnwinder> unwinder);
  ~RecordRouter();
  RecordRouter(const RecordRouter&) = delete;
  RecordRouter& operator=(const RecordRouter&) = delete;

  absl::Status Open(int ring_fd);
  // A ring of what processes had mapped as they went, heard before each copy.
  absl::Status OpenDepartures(int ring_fd);
  // Readable when a program asked for a drain since the last one.
  int fd() const { return wakeups_; }
  bool unwinds() const { return unwinder_ != nullptr; }
  // Of the epoch, which has ended; zeroes without an unwinder.
  RawUnwinding EndUnwinding() {
    return unwinder_ == nullptr ? RawUnwinding{} : unwinder_->EndEpoch();
  }

  // Since the last call; without thread_ns, and with unwind_ns as time that passed.
  DrainUse TakeUse();

  // Hands out what was held back, then all the ring holds up to now. `half`: of the epoch that
  // `sink` and `table` collect. Returns the number of samples and events handed out or held back.
  absl::StatusOr<uint64_t> Drain(SampleSink& sink, ProcessTable& table, uint32_t half);

  // Samples whose wanted stack could not be read since the last call, as losses.
  void TakeLosses(std::vector<RawLoss>& losses);

 private:
  void HearDepartures();
  void Route(const void* data, size_t size);
  void RouteSample(const telltale_sample& record);
  void RouteCopy(const telltale_copy& record, size_t size);
  // A sample with all its parts; `half`: of its epoch.
  void Finish(RawSample sample, uint32_t half);
  // Of samples whose copy did not come: cannot happen while the kernel keeps records in order.
  void FinishAwaiting();
  void RouteEvent(const telltale_event& record);

  struct Awaiting {
    uint64_t copy;
    uint32_t half;
    RawSample sample;
  };

  const std::shared_ptr<UserUnwinder> unwinder_;
  DrainUse use_;
  RecordRing ring_;
  RecordRing departures_;  // stays closed where the kernel cannot tell
  int wakeups_ = -1;       // epoll: the ring itself is readable whenever something is in it
  StackTrimmer trimmer_;
  std::array<telltale_total, TELLTALE_MAX_VITAL + 1> unreadable_{};  // by id
  std::vector<Awaiting> awaiting_;                                   // a few at a time: one a CPU
  std::vector<RawSample> early_samples_;
  std::vector<RawEvent> early_events_;
  std::vector<telltale_row> early_rows_;
  std::vector<telltale_event> early_unfollowed_;
  // Of the drain going on.
  SampleSink* sink_ = nullptr;
  ProcessTable* table_ = nullptr;
  uint32_t half_ = 0;
  uint64_t count_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_RECORD_ROUTER_H_
