// Whether a filter emits more than the collector bears, of all nodes together: counted by the hour,
// so that one that runs over a past day may emit in it what it would have emitted in a day. One
// that goes beyond is ended, where it can be (FilterCode::End).
//
// Belongs to the runner's thread.

#ifndef TELLTALE_COLLECTOR_FILTER_FLOOD_GUARD_H_
#define TELLTALE_COLLECTOR_FILTER_FLOOD_GUARD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "collector/filter/filter_code.h"

namespace telltale::filter {

struct FloodLimits {
  // Anomalies that begin in one hour, besides two for each node: they drive out of log and
  // incidents what others found. A quarter of the incidents there is room for, if each were one
  // (incident_book.h).
  uint64_t found = 1'000;
  // In the epochs of one hour: how often anomalies, known ones too, and marks are emitted, besides
  // four times in each epoch. Each is a row that is read and written.
  uint64_t said = 10'000;
  // And points, besides 64 in each epoch, twice what `sort` draws: with each epoch the hour's are
  // written again, and they take the disk from the epochs themselves.
  uint64_t drawn = 200'000;
};

class FloodGuard {
 public:
  // `code` outlives it.
  FloodGuard(const FloodLimits& limits, FilterCode* code) : limits_(limits), code_(code) {}

  void set_nodes(size_t nodes) { nodes_ = nodes; }
  // The epoch that what is said and drawn from here on is of.
  void Show(uint64_t start_ns);

  // Whether one more may be kept; else the filter is ended.
  bool Find(uint64_t start_ns);
  bool Say();
  bool Draw();

 private:
  struct Hour {
    uint64_t epochs = 0, found = 0, said = 0, drawn = 0;
  };
  Hour& At(uint64_t time_ns);
  bool End(const std::string& why);

  const FloodLimits limits_;
  FilterCode* const code_;
  size_t nodes_ = 0;
  uint64_t shown_ns_ = 0;
  std::map<uint64_t, Hour> hours_;  // the latest, by when they began
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_FLOOD_GUARD_H_
