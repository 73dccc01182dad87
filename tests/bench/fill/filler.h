// Makes a data directory as a collector would have left it that took in a fleet for weeks, up to
// now, so that questions over weeks find weeks.
//
//   first node         raw epochs of the last days, with series blocks, 5-minute and 1-hour windows
//                      and names, put into the store and rolled up as a collector does
//   all nodes          raw epochs of the last hour, in the same way
//                      windows of 1 h of the present day and of the hours in which the oldest data
//                      lie, windows of 5 min between the last full hour and the first epoch: the
//                      first node's, re-keyed, their weights re-drawn for each node and window
//                      line blocks of 1 h of all days, of windows made in that way
//                      ledger, coverage, counters and node record of all that time
//
// What it leaves out, so that it takes minutes: of the other nodes the raw epochs before the last
// hour (their ledgers have them settled), and the windows that no question over the whole time
// reads because its line blocks hold them. So it is for questions, not for `verify`.
//
// The nodes are those of telltale-fleetsim with the same seed, which may go on reporting.

#ifndef TELLTALE_TESTS_BENCH_FILL_FILLER_H_
#define TELLTALE_TESTS_BENCH_FILL_FILLER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace telltale::bench {

struct FillOptions {
  std::string data;  // the collector's data directory; made if missing, without a store in it
  uint32_t nodes = 1000;
  uint32_t days = 30;                           // of all nodes
  uint32_t node_days = 3;                       // of raw epochs of the first node, below `days`
  uint64_t seed = 1;                            // of the fleet
  std::vector<std::string> recordings;          // spool directories; empty: made-up epochs
  uint64_t now_ns = 0;                          // the end of the data
  std::function<void(const std::string&)> say;  // how it goes, one line; never empty
};

// Main thread; works on as many threads as there are processors.
absl::Status Fill(const FillOptions& options);

}  // namespace telltale::bench

#endif  // TELLTALE_TESTS_BENCH_FILL_FILLER_H_
