// How long requests to a disk take, and how long they usually do: what the rule about blocked
// processes says for or against the disk.
//
// Usual is the median of sixty epochs in which it answered any, the last ones but those in which it
// had been slow for a while: a day of that is its new usual. Of each kind of request it
// is another: a flush takes longer than a write to a cache. Told is the kind that took most time.
// Where only one request that was sampled tells, usual is the median of such.
//
// As a rule: one node, one thread at a time.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_DISK_LATENCY_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_DISK_LATENCY_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/filter/detect/rule.h"

namespace telltale::filter {

class DiskLatency {
 public:
  // At most one of the texts is not "".
  struct Told {
    std::string evidence;  // "disk sda: await 1.9 s a write, usual 4 ms"
    // "disk sda answers as fast as usual, await 4 ms a write, usual 4 ms"; of all requests only
    std::string against;
    double await_s = 0, usual_s = 0;  // 0: not told
  };
  // Of the epoch, against those noted before. Both "": it is not known which disk, or
  // how fast, or all that is known is one fast request.
  Told Of(const RuleEpoch& epoch, uint64_t device) const;
  // The epoch is over.
  void Note(const RuleEpoch& epoch);

  void Save(StateWriter& to) const;
  void Load(StateReader& from);

 private:
  struct Past {
    std::vector<double> await_ns;  // of epochs, newest last
    uint64_t last_ns = 0;          // end of the newest of them
    uint64_t slow_since_ns = 0;    // start of the first of the slow ones
    uint32_t slow = 0;             // epochs in a row

    void Take(double now_ns, uint64_t start_ns, uint64_t end_ns);
  };
  bool ForgetOne(uint64_t now_ns);

  std::map<std::pair<uint64_t, uint32_t>, Past> past_;  // by device and SeriesOf its kind
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_DISK_LATENCY_H_
