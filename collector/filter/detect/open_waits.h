// What a wait that goes on is in, over epochs. Samples tell it, and not of each wait in each epoch:
// where tasks are only looked at, those are kept that lead their cell of the sketch at its end. A
// wait that a sample showed open at the end of an epoch is in the same call and place as long as it
// lasts, and it lasts while its process, of one thread, waits in that way and has begun no other
// wait of the kind. Nothing less will do: a process that woke for a moment may wait for something
// else now, for its next request as well as for what kept it before.
//
// That it began none is known where tasks are only looked at, for there a wait that goes on counts
// as none; followed, it counts once in each epoch, but then it also has its sample. It is not known
// on a node that waits so much in that way that a row's few waits are rounded away.
//
// As a rule: one node, one thread at a time.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_OPEN_WAITS_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_OPEN_WAITS_H_

#include <cstdint>
#include <map>
#include <utility>

#include "collector/filter/detect/rule.h"
#include "collector/filter/detect/waits.h"

namespace telltale::filter {

class OpenWaits {
 public:
  // Where the process waits in that way: as samples of this epoch tell, or else those of the one in
  // which the wait that goes on was sampled last.
  WaitPlace PlaceOf(const RuleEpoch& epoch, const telltale_filter_process& process,
                    const char* sub) const;
  // The epoch is over: what PlaceOf says of the next one rests on it.
  void Note(const RuleEpoch& epoch);

  void Save(StateWriter& to) const;
  void Load(StateReader& from);

 private:
  struct Open {
    uint32_t sub = 0;  // of `blocking`
    WaitPlace place;
  };
  // nullptr: nothing is known of it, or it may be over.
  const Open* GoesOn(const RuleEpoch& epoch, const telltale_filter_process& process) const;

  uint64_t until_ns_ = 0;                               // end of the last epoch noted
  std::map<std::pair<uint32_t, uint64_t>, Open> open_;  // by pid and start
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_OPEN_WAITS_H_
