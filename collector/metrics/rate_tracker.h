// Remembers each node's cumulative figures of the scrape before, to say how fast they grow now. The
// time they grew over is counted in epochs received, so a backlog that arrives all at once does not
// look like a burst.
//
// Thread-safe. Memory: one entry per node and sub-series.

#ifndef TELLTALE_COLLECTOR_METRICS_RATE_TRACKER_H_
#define TELLTALE_COLLECTOR_METRICS_RATE_TRACKER_H_

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "collector/metrics/figures.h"

namespace telltale::metrics {

class RateTracker {
 public:
  // Weight per second of each entry of node.subs (same order), over the epochs received since the
  // figures last changed before; empty until two different counts of epochs were seen.
  std::vector<double> Update(const NodeFigures& node);

 private:
  struct Seen {
    uint64_t epochs = 0;
    std::vector<SubFigure> subs;
    std::vector<double> rates;
  };
  std::mutex mutex_;
  std::unordered_map<uint32_t, Seen> seen_;  // by node number
};

}  // namespace telltale::metrics

#endif  // TELLTALE_COLLECTOR_METRICS_RATE_TRACKER_H_
