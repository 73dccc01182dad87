// What each part of the sensor took since the last look and would take if it did all it can; and
// what programs that were away part of the time did not see.

#include <algorithm>
#include <cmath>
#include <utility>

#include "agent/clock_ns.h"
#include "agent/governor/cost_model.h"
#include "agent/sensor/budget_keeper.h"
#include "agent/vitals/vitals.h"
#include "sketch/time_units.h"

namespace telltale::agent {
namespace {

// What follows no lever: a tick; a disk request's issue or end while its vital is not counted; an
// event of a vital that has no part of its own (reclaim, retransmit, llc, local ones: judged by the
// others, not measured); the record of a process's exec or exit (judged by its size beside a
// sample's); the end of a life that was not followed. Run statistics on the machine of kEventNs,
// ticks of a CPU that spins, requests of one that writes 8,000 a second.
constexpr double kTickNs = 1'200, kClosedDiskNs = 400, kOtherNs = 350, kRecordNs = 1'000,
                 kBriefNs = 600;
// Over which the parts are spread that come in bursts: each epoch begins with many samples, and a
// cut is one burst. And what is done once.
constexpr double kBurstSeconds = 30, kOnceSeconds = 300;
// In which the agent reads the names of all that runs already, and over which that is spread: else
// a storm that finds it starting would keep parts down for minutes after.
constexpr double kStartSeconds = 20, kStartFadeSeconds = 1200;
// What finding out that an event is not of the cgroup watched costs, of what counting it would.
constexpr double kOutside = 0.5;

}  // namespace

GovernorReading BudgetKeeper::Reckon(uint64_t mono_ns, const DrainUse& use,
                                     const EventCounts& counts) {
  const double passed_s = static_cast<double>(mono_ns - last_mono_ns_) / kNsPerS;
  GovernorReading reading;
  reading.mono_ns = mono_ns;
  // By the vital's number in the kernel's memory, which is its id but for local ones.
  const auto events = [&](uint8_t vital) {
    const size_t v = vital - 1U;
    return static_cast<double>(counts.vitals[v].events - last_.vitals[v].events) +
           kOutside * static_cast<double>(counts.outside[v] - last_.outside[v]);
  };
  for (const Unit& unit : units_) {
    const double seen = unit.part == Part::kSoftirq
                            ? std::ldexp(static_cast<double>(static_cast<uint32_t>(
                                             counts.soft_interrupts - last_.soft_interrupts)),
                                         governor_->level(unit.part))
                            : events(VitalOfPart(unit.part));
    const size_t part = Index(unit.part);
    reading.full_ns[part] = windowed_[part].Tell(seen * kEventNs[part] * factor_, passed_s,
                                                 governor_->level(unit.part), cycler_->period_s());
  }
  reading.full_ns[Index(Part::kSwitch)] =
      (static_cast<double>(SwitchesInside(counts, last_)) +
       kOutside * static_cast<double>(counts.outside_switches - last_.outside_switches)) *
      kEventNs[Index(Part::kSwitch)] * factor_;
  reading.full_ns[Index(Part::kTasks)] =
      static_cast<double>(counts.ends - last_.ends) * kEventNs[Index(Part::kTasks)] * factor_;
  if (governor_->detached()) ReckonUnwatched(mono_ns, reading);

  // Samples and last rows take a part of what the drain took as large as theirs of the records.
  const double drain_ns = static_cast<double>(use.thread_ns) -
                          static_cast<double>(std::min(use.unwind_ns, use.thread_ns));
  const double record_ns = use.records == 0 ? 0 : drain_ns / static_cast<double>(use.records);
  const double drained_ns = record_ns * static_cast<double>(use.samples + use.rows);
  const double samples_ns =
      static_cast<double>(use.samples) * (record_ns + kEventNs[Index(Part::kSamples)] * factor_);
  reading.full_ns[Index(Part::kSamples)] = samples_ns;
  sample_demand_.Learn(passed_s, use.samples, counts.refused_samples - last_.refused_samples);
  reading.sample_growth = sample_demand_.Growth(governor_->level(Part::kSamples));
  const uint8_t unwinding = governor_->level(Part::kUnwinding);
  const uint64_t unwind_ns = use.unwind_ns - std::min(use.table_ns, use.unwind_ns);
  once_.Add(static_cast<double>(use.table_ns));
  unwind_price_.Learn(passed_s, unwind_ns, use.unwound, unwinding);
  reading.full_ns[Index(Part::kUnwinding)] =
      unwinding == 0 ? static_cast<double>(unwind_ns)
                     : unwind_price_.ns() * static_cast<double>(use.samples);

  const uint64_t agent_ns =
      options_.agent_cpu_ns ? options_.agent_cpu_ns() : ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  const uint64_t cycler_ns = cycler_->CpuNs();
  const auto cycled_ns = static_cast<double>(cycler_ns - last_cycler_ns_);
  double own_ns = std::max(0.0, static_cast<double>(agent_ns - std::min(agent_ns, last_agent_ns_)) -
                                    drained_ns - static_cast<double>(use.unwind_ns) - cycled_ns);
  reading.unseen_ns = UnseenNs(counts, last_) * factor_;
  reading.cycling_ns = cycled_ns + reading.unseen_ns;
  if (static_cast<double>(mono_ns - began_mono_ns_) < kStartSeconds * kNsPerS) {
    start_.Add(std::exchange(own_ns, 0));
  }
  double others = events(TELLTALE_RECLAIM) + events(TELLTALE_RETRANSMIT) + events(TELLTALE_LLC);
  for (const sketch::Vital& vital : LocalVitals()) {
    others += events(static_cast<uint8_t>(PlaceOf(vital.id) + 1));
  }
  const auto closed_requests = static_cast<double>(counts.unseen[TELLTALE_DISK_IO - 1U] -
                                                   last_.unseen[TELLTALE_DISK_IO - 1U]);
  const double rest_ns =
      own_ns + (events(TELLTALE_CPU) * kTickNs + closed_requests * kClosedDiskNs +
                others * kOtherNs + static_cast<double>(use.process_records) * kRecordNs +
                static_cast<double>(use.brief_lives) * kBriefNs) *
                   factor_;
  reading.full_ns[Index(Part::kRest)] = rest_ns;
  if (options_.scoped) {
    reading.full_ns[Index(Part::kRest)] +=
        static_cast<double>(static_cast<uint32_t>(counts.soft_interrupts - last_.soft_interrupts)) *
        kEventNs[Index(Part::kSoftirq)] * factor_;
  }
  for (const Part part : {Part::kSamples, Part::kUnwinding, Part::kRest}) {
    SpreadCost& spread = spread_[Index(part)];
    double& full = reading.full_ns[Index(part)];
    const double now_ns = full;
    spread.Add(full);
    full = spread.Tell(passed_s, kBurstSeconds);
    const double paid_ns = std::max(0.0, full - now_ns);
    if (part == Part::kSamples) {
      // Spread as what it took: at another level that is no more and no less.
      full = std::ldexp(full, governor_->level(part));
      reading.paid_ns += paid_ns;
    } else {
      reading.paid_ns += Governor::Cost(part, governor_->level(part), paid_ns);
    }
  }
  const double once_ns =
      once_.Tell(passed_s, kOnceSeconds) + start_.Tell(passed_s, kStartFadeSeconds);
  reading.full_ns[Index(Part::kRest)] += once_ns;
  reading.paid_ns += once_ns;
  last_agent_ns_ = agent_ns;
  last_cycler_ns_ = cycler_ns;
  return reading;
}

void BudgetKeeper::ReckonUnwatched(uint64_t mono_ns, GovernorReading& reading) {
  pace_.Look(mono_ns, ReadHostCounts);
  reading.known = pace_.known();
  const double passed_s = static_cast<double>(mono_ns - last_mono_ns_) / kNsPerS;
  for (const auto& [part, per_s] :
       {std::pair(Part::kSwitch, pace_.switches_per_s()), {Part::kTasks, pace_.tasks_per_s()}}) {
    reading.full_ns[Index(part)] = per_s * passed_s * kEventNs[Index(part)] * factor_;
  }
}

// What programs that were away part of the time did not see, by what they did see.
void BudgetKeeper::AddLost(const EventCounts& counts) {
  for (const Unit& unit : units_) {
    const uint8_t level = governor_->level(unit.part);
    const unsigned v = VitalOfPart(unit.part) - 1U;
    if (level == 0) continue;
    const uint64_t events = counts.vitals[v].events - last_.vitals[v].events;
    const uint64_t weight = counts.vitals[v].weight - last_.vitals[v].weight;
    lost_[v].events += events - (events >> level);
    lost_[v].weight += weight - (weight >> level);
  }
  for (const uint8_t vital : {TELLTALE_SCHED_DELAY, TELLTALE_BLOCKING}) {
    lost_[vital - 1U].events += counts.unknown_ends - last_.unknown_ends;
  }
  if (governor_->level(Part::kSwitch) == kSwitchCount) {
    for (const uint8_t vital : {TELLTALE_SCHED_DELAY, TELLTALE_BLOCKING}) {
      lost_[vital - 1U].events += SwitchesInside(counts, last_);
    }
  }
}

}  // namespace telltale::agent
