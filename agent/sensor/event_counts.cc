#include "agent/sensor/event_counts.h"

#include "agent/sensor/epoch_reader.h"
#include "agent/vitals/vitals.h"
#include "sketch/vital_ids.h"

namespace telltale::agent {

uint8_t VitalOfPart(Part part) {
  switch (part) {
    case Part::kSyscall:
      return TELLTALE_SYSCALL;
    case Part::kFault:
      return TELLTALE_USER_PAGE;
    case Part::kPages:
      return TELLTALE_KERNEL_PAGE;
    case Part::kSocket:
      return TELLTALE_SOCKET;
    case Part::kSignal:
      return TELLTALE_SIGNAL;
    case Part::kLock:
      return TELLTALE_LOCK;
    case Part::kSoftirq:
      return TELLTALE_SOFTIRQ;
    default:
      return 0;
  }
}

EventCounts CountEvents(std::span<const telltale_cpu* const> cpus, uint32_t half) {
  EventCounts counts;
  for (const telltale_cpu* cpu : cpus) {
    for (unsigned dense = 0; dense < TELLTALE_SUBS; ++dense) {
      const telltale_total& total = cpu->half[half].total[dense];
      telltale_total& sum = counts.vitals[PlaceOf(DenseSubs()[dense].vital)];
      sum.events += total.events;
      sum.weight += total.weight;
    }
    for (unsigned v = 0; v < TELLTALE_VITALS; ++v) {
      if (v != TELLTALE_SCHED_DELAY - 1) counts.outside[v] += cpu->outside[v];
    }
    const uint64_t outside = cpu->outside[TELLTALE_SCHED_DELAY - 1];
    counts.outside_switches += outside;
    counts.switches += cpu->switches - outside;
    counts.ends += cpu->ends;
    counts.unknown_ends += cpu->unknown_ends;
    counts.soft_interrupts += cpu->softirq_count;
  }
  return counts;
}

}  // namespace telltale::agent
