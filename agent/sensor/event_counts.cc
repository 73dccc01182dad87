#include "agent/sensor/event_counts.h"

#include <algorithm>

#include "agent/governor/cost_model.h"
#include "agent/sensor/epoch_reader.h"
#include "agent/vitals/vitals.h"
#include "sketch/vital_ids.h"

namespace telltale::agent {
namespace {

// Of what counting an event costs: dispatch and return (an empty program takes 41 of the 66 ns of a
// system call, tests/bench/SENSOR.md).
constexpr double kUnseen = 0.6;

}  // namespace

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
    case Part::kDisk:
      return TELLTALE_DISK_IO;
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
      if (cpu->of_passes == 0) {
        counts.refused_samples += cpu->half[half].lost[v][TELLTALE_LOST_TOKENS].events;
      }
      counts.unseen[v] += cpu->unseen[v];
      if (v != TELLTALE_SCHED_DELAY - 1) counts.outside[v] += cpu->outside[v];
    }
    counts.switches += cpu->switches;
    counts.outside_switches += cpu->outside[TELLTALE_SCHED_DELAY - 1];
    counts.ends += cpu->ends;
    counts.unknown_ends += cpu->unknown_ends;
    counts.soft_interrupts += cpu->softirq_count;
  }
  return counts;
}

uint64_t SwitchesInside(const EventCounts& counts, const EventCounts& before) {
  const uint64_t all = counts.switches - before.switches;
  return all - std::min(all, counts.outside_switches - before.outside_switches);
}

double UnseenNs(const EventCounts& counts, const EventCounts& before) {
  double ns = 0;
  for (size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    if (!IsCycled(part) || part == Part::kSoftirq || part == Part::kDisk) continue;
    const size_t v = VitalOfPart(part) - 1U;
    ns += kUnseen * kEventNs[i] * static_cast<double>(counts.unseen[v] - before.unseen[v]);
  }
  return ns;
}

}  // namespace telltale::agent
