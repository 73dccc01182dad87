// Discrete events that the agent itself has to tell, in no kernel hook: that it started, and that
// somebody set the node's clock. Owned by the sensor thread.

#ifndef TELLTALE_AGENT_EPOCH_NODE_EVENTS_H_
#define TELLTALE_AGENT_EPOCH_NODE_EVENTS_H_

#include <cstdint>
#include <string>

#include "agent/epoch/folded_epoch.h"

namespace telltale::agent {

class NodeEvents {
 public:
  // Both clocks are steered by NTP at the same rate (clock_gettime(2)): their difference changes
  // only when the wall clock is set, or by a suspend, which CLOCK_MONOTONIC sleeps through.
  static constexpr int64_t kStepNs = 100'000'000;  // what is less is no event

  struct AgentStart {
    uint64_t unix_ns = 0, mono_ns = 0;  // read together
    std::string version;
  };
  explicit NodeEvents(AgentStart start);

  // Appends to `folded`, of an epoch that ends at `end_mono_ns`, what has not been said yet. A step
  // is dated by the cut that found it.
  void Add(int64_t wall_minus_mono_ns, uint64_t end_mono_ns, FoldedEpoch& folded) const;

  // The epoch with these events is made; drafts of it are not told here and may repeat them.
  void Said(int64_t wall_minus_mono_ns);

 private:
  const AgentStart start_;
  bool start_said_ = false;
  int64_t wall_minus_mono_ns_;  // at the last cut, before the first at the agent's start
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_NODE_EVENTS_H_
