// Drains the kernel's ring buffer and hands each record where it belongs: samples and events to the
// agent's sink, last rows of tasks to the process table. A record is tagged with the half of
// counters its epoch used; one that already belongs to the next epoch is held back until the next
// drain. Owned by the sensor, its thread only. Held back at most: what a ring of 2 MB holds.

#ifndef TELLTALE_AGENT_SENSOR_RECORD_ROUTER_H_
#define TELLTALE_AGENT_SENSOR_RECORD_ROUTER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/sensor/process_table.h"
#include "agent/sensor/sensor.h"
#include "agent/sensor/stack_trimmer.h"
#include "sketch/layout.h"

struct ring_buffer;

namespace telltale::agent {

class RecordRouter {
 public:
  RecordRouter() = default;
  ~RecordRouter();
  RecordRouter(const RecordRouter&) = delete;
  RecordRouter& operator=(const RecordRouter&) = delete;

  absl::Status Open(int ring_fd);

  // Hands out what was held back, then all the ring holds up to now. `half`: of the epoch that
  // `sink` and `table` collect. Returns the number of samples and events handed out or held back.
  absl::StatusOr<uint64_t> Drain(SampleSink& sink, ProcessTable& table, uint32_t half);

  // Samples whose wanted stack could not be read since the last call, as losses.
  void TakeLosses(std::vector<RawLoss>& losses);

 private:
  static int OnRecord(void* router, void* data, size_t size);
  void Route(const void* data, size_t size);
  void RouteSample(const telltale_sample& record);
  void RouteEvent(const telltale_event& record);

  ring_buffer* ring_ = nullptr;
  StackTrimmer trimmer_;
  std::array<telltale_total, TELLTALE_VITALS + 1> unreadable_{};
  std::vector<RawSample> early_samples_;
  std::vector<RawEvent> early_events_;
  std::vector<telltale_row> early_rows_;
  // Of the drain going on.
  SampleSink* sink_ = nullptr;
  ProcessTable* table_ = nullptr;
  uint32_t half_ = 0;
  uint64_t count_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_RECORD_ROUTER_H_
