#include "agent/epoch/node_events.h"

#include <cstdlib>
#include <utility>

namespace telltale::agent {

NodeEvents::NodeEvents(AgentStart start)
    : start_(std::move(start)),
      wall_minus_mono_ns_(static_cast<int64_t>(start_.unix_ns - start_.mono_ns)) {}

void NodeEvents::Add(int64_t wall_minus_mono_ns, uint64_t end_mono_ns, FoldedEpoch& folded) const {
  if (!start_said_) {
    FoldedEvent event;
    event.type = v1::EVENT_TYPE_AGENT_START;
    event.text = folded.tables.String(start_.version);
    event.first_ns = start_.mono_ns;
    event.count = 1;
    folded.events.push_back(event);
  }
  const int64_t step = wall_minus_mono_ns - wall_minus_mono_ns_;
  if (std::abs(step) > kStepNs) {
    FoldedEvent event;
    event.type = v1::EVENT_TYPE_CLOCK_STEP;
    event.value = step;
    event.first_ns = end_mono_ns;
    event.count = 1;
    folded.events.push_back(event);
  }
}

void NodeEvents::Said(int64_t wall_minus_mono_ns) {
  start_said_ = true;
  wall_minus_mono_ns_ = wall_minus_mono_ns;
}

}  // namespace telltale::agent
