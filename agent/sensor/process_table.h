// Adds the rows of tasks, as the kernel gave them out at the cut or at each task's end, up to
// processes: one RawProcess per (thread group, start time), one for [irq], and `other` for what
// found no row. Owned by the sensor, its thread only; one table per epoch.

#ifndef TELLTALE_AGENT_SENSOR_PROCESS_TABLE_H_
#define TELLTALE_AGENT_SENSOR_PROCESS_TABLE_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/sensor/sensor.h"
#include "sketch/layout.h"

namespace telltale::agent {

class ProcessTable {
 public:
  // At most `max_rows` processes have a row. Where more come, those that began (after
  // `epoch_start_ns`, CLOCK_MONOTONIC) and ended within the epoch share one of their program; what
  // finds no room even so is added to `other`.
  explicit ProcessTable(size_t max_rows, uint64_t epoch_start_ns = 0)
      : max_rows_(max_rows), epoch_start_ns_(epoch_start_ns) {}

  void Add(const telltale_row& row);
  // A process that ended and was not followed: it is one of its program's. What it did that the
  // kernel does not account is nobody's.
  void AddUnfollowed(const telltale_event& exit);
  // The share of interrupts, already summed over CPUs: TELLTALE_SUBS entries.
  void AddIrq(const telltale_total* totals);

  // Moves the rows into `epoch`. What the totals of epoch.vitals have beyond all rows (a row lost
  // in a full ring) is given to `other` as well, so rows + other = total.
  void Finish(RawEpoch& epoch);

 private:
  struct Entry {
    RawProcess process;
    std::vector<telltale_total> shares;
  };
  using Program = std::tuple<uint64_t, uint32_t, uint32_t, uint32_t, uint64_t>;
  // Whether it began and ended in this epoch; such are grouped by program later in any case.
  bool IsWhole(const RawProcess& process) const;
  bool IsFull() const { return rows_.size() + unfollowed_.size() + lives_.size() >= max_rows_; }
  void FoldLives();
  static void AddShares(const telltale_total* totals, Entry& entry);
  static RawProcess Close(Entry&& entry);

  const size_t max_rows_;
  const uint64_t epoch_start_ns_;
  std::map<std::pair<uint32_t, uint64_t>, Entry> rows_;
  std::map<Program, RawProcess> unfollowed_;
  std::map<Program, Entry> lives_;  // of whole processes for which there was no room
  size_t whole_ = 0;                // rows that would go there
  Entry irq_, other_;
  uint64_t task_ns_ = 0;
  uint64_t over_limit_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_PROCESS_TABLE_H_
