// What the kernel programs have counted so far, by the parts of the agent's cost. Reads a few words
// a CPU, so that it can be done every 100 ms. Any thread that owns the memory.

#ifndef TELLTALE_AGENT_SENSOR_EVENT_COUNTS_H_
#define TELLTALE_AGENT_SENSOR_EVENT_COUNTS_H_

#include <array>
#include <cstdint>
#include <span>

#include "agent/governor/parts.h"
#include "sketch/layout.h"

namespace telltale::agent {

// Vital of a part that is watched part of the time; 0: the part is none of these.
uint8_t VitalOfPart(Part part);

struct EventCounts {
  // Of one half, since it was cleared; of programs watched part of the time what that stands for.
  std::array<telltale_total, TELLTALE_VITALS> vitals{};  // by place (agent/vitals)
  uint64_t refused_samples = 0;  // on CPUs, for want of a token; of one half, too
  // Since the sensor's start.
  std::array<uint64_t, TELLTALE_VITALS> outside{};  // of other cgroups than the one watched
  std::array<uint64_t, TELLTALE_VITALS> unseen{};   // by programs that are there and may not count
  uint64_t switches = 0;                            // all there were
  uint64_t outside_switches = 0;                    // of them, to tasks of other cgroups
  uint64_t ends = 0;                                // of tasks
  uint64_t unknown_ends = 0;                        // of those that were never followed
  uint64_t soft_interrupts = 0;
};

EventCounts CountEvents(std::span<const telltale_cpu* const> cpus, uint32_t half);

// Switches, since `before`, to tasks that are watched. CPUs go on counting between the reads of two
// of their words, so of those to the others there can seem to have been more than of all.
uint64_t SwitchesInside(const EventCounts& counts, const EventCounts& before);

// What programs took, since `before`, that ran outside of their windows: the kernel may take
// seconds to let them come or go. ns on the machine of kEventNs (agent/governor/cost_model.h). Of
// soft interrupts nothing: they are counted whether a window is open or not; nor of disk requests,
// whose programs stay.
double UnseenNs(const EventCounts& counts, const EventCounts& before);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_EVENT_COUNTS_H_
