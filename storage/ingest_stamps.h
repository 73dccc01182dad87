// When each hour of each group of 256 nodes last changed: a number for each change, ascending in
// the order in which readers come to see them (commits beside each other end in any order). An
// answer computed from some groups and hours is still the answer while the highest of their stamps
// is what it was. Kept in memory since the process started: whoever compares stamps has none from
// before. Owned by SummaryStore.
//
// Thread-safe.

#ifndef TELLTALE_STORAGE_INGEST_STAMPS_H_
#define TELLTALE_STORAGE_INGEST_STAMPS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace telltale::storage {

class IngestStamps {
 public:
  // Hours of a group that are told apart; at the bound the oldest become one.
  static constexpr size_t kMaxHours = 1024;

  // Data of this node in the hour of `time_ns` changed. To be called when readers see the change,
  // before it is acknowledged.
  void Touch(uint32_t node, uint64_t time_ns);
  // What is known of this node at any time changed (a declared loss, a clone set apart).
  void TouchAll(uint32_t node);

  // The highest stamp of these groups (node number / 256; none: of all groups) and of the hours
  // that [from, to) overlaps; 0: nothing changed since the start.
  uint64_t Highest(const std::vector<uint32_t>& groups, uint64_t from_ns, uint64_t to_ns) const;

 private:
  struct Group {
    uint64_t Highest(uint64_t first_hour, uint64_t last_hour) const;

    std::map<uint64_t, uint64_t> hours;           // hour -> number
    uint64_t folded_hour = 0, folded_number = 0;  // hours up to this one, and their highest
    uint64_t all = 0;
  };
  mutable std::mutex mutex_;
  uint64_t changes_ = 0;              // guarded by mutex_
  std::map<uint32_t, Group> groups_;  // guarded by mutex_
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_INGEST_STAMPS_H_
