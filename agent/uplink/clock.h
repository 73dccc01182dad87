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

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_CLOCK_H_
