// Over how long agents spread what they send after a cut. All cut at the same moment, so this is
// what makes a fleet's epochs arrive evenly; a small fleet's wait no longer than they must. A
// value; the caller guards it.

#ifndef TELLTALE_COLLECTOR_INGEST_SENDING_SPREAD_H_
#define TELLTALE_COLLECTOR_INGEST_SENDING_SPREAD_H_

#include <cstddef>
#include <cstdint>

namespace telltale::ingest {

class SendingSpread {
 public:
  // So many nodes' epochs a second keep half a core busy (tests/bench/COLLECTOR.md).
  static constexpr uint32_t kNodesPerS = 100;

  // Of `nodes` epochs are awaited. The spread grows at once and with room, and shrinks once half of
  // it would do, so that nodes that come and go do not make the whole fleet be told again.
  void SetNodes(size_t nodes);

  // In seconds, at least one: what the fleet needs, without a limit.
  uint32_t seconds() const { return seconds_; }

 private:
  uint32_t seconds_ = 1;
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_SENDING_SPREAD_H_
