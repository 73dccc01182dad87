// The node's clocks, handed in so that tests own time. Implementations may be called from any
// thread.

#ifndef TELLTALE_AGENT_UPLINK_CLOCK_H_
#define TELLTALE_AGENT_UPLINK_CLOCK_H_

#include <cstdint>

namespace telltale::agent {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual uint64_t WallNs() const = 0;  // CLOCK_REALTIME
  virtual uint64_t MonoNs() const = 0;  // CLOCK_MONOTONIC
};

class SystemClock : public Clock {
 public:
  uint64_t WallNs() const override;
  uint64_t MonoNs() const override;
};

struct ClockPair {
  uint64_t wall_ns = 0, mono_ns = 0;
};
// Both clocks at one moment: a thread that lost its CPU between the two would see a clock step that
// nobody made. Reads again when that happened, a few times.
ClockPair ReadTogether(const Clock& clock);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_CLOCK_H_
