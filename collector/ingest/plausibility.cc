#include "collector/ingest/plausibility.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sketch/time_units.h"
#include "sketch/vital_ids.h"

namespace telltale::ingest {
namespace {

constexpr double kSlack = 1.05;              // clocks of CPUs and epoch differ a little
constexpr double kSlackNs = 50e6;            // ticks charged at the edges of an epoch
constexpr uint32_t kMaxCpus = 8192;          // more than any kernel of today has (NR_CPUS)
constexpr double kEventsPerCpuSecond = 1e9;  // no event takes less than a nanosecond
// Tasks that wait at the same time: PID_MAX_LIMIT of linux/threads.h.
constexpr double kMaxTasks = 4.0 * 1024 * 1024;
constexpr double kBytesPerSecond = 4e12;  // above any memory bus of today
constexpr double kPagesPerCpuSecond = 1e9;

// The largest weight one vital can gather.
double PossibleWeight(v1::Unit unit, double seconds, double cpus) {
  switch (unit) {
    case v1::UNIT_NANOSECONDS:
      return kMaxTasks * seconds * kNsPerS * kSlack;
    case v1::UNIT_BYTES:
      return kBytesPerSecond * seconds;
    case v1::UNIT_PAGES:
      return kPagesPerCpuSecond * cpus * seconds;
    default:
      return kEventsPerCpuSecond * cpus * seconds;
  }
}

}  // namespace

Judgement JudgeTotals(const v1::SummaryBody& body, const v1::Schema& schema, uint32_t cpus) {
  const v1::Epoch& epoch = body.epoch();
  const double length_ns = static_cast<double>(epoch.end_mono_ns() - epoch.start_mono_ns());
  const double seconds = length_ns / kNsPerS + 1;  // a second for edges and partial epochs
  const double cpu_count = std::clamp(cpus, 1u, kMaxCpus);
  Judgement judgement;
  for (const v1::Vital& vital : body.vitals()) {
    double events = 0;
    double weight = 0;
    for (const v1::SubSeries& sub : vital.subs()) {
      events += static_cast<double>(sub.events());
      weight += static_cast<double>(sub.weight());
    }
    v1::Unit unit = v1::UNIT_UNSPECIFIED;
    for (const v1::VitalDescriptor& descriptor : schema.vitals()) {
      if (descriptor.id() == vital.id()) unit = descriptor.unit();
    }
    const double most_events = kEventsPerCpuSecond * cpu_count * seconds;
    const double most_weight = PossibleWeight(unit, seconds, cpu_count);
    if (events > most_events || weight > most_weight) {
      return {Belief::kImpossible,
              absl::StrCat("totals: vital ", vital.id(), " has ", events, " events of weight ",
                           weight, ", at most ", most_events, " and ", most_weight,
                           " are possible on ", cpu_count, " CPUs")};
    }
    const double cpu_limit = cpu_count * length_ns * kSlack + kSlackNs;
    if (vital.id() == TELLTALE_CPU && weight > cpu_limit) {
      judgement = {Belief::kImplausible,
                   absl::StrCat("cpu time ", weight / kNsPerS, " s in an epoch of ",
                                length_ns / kNsPerS, " s on ", cpu_count, " CPUs")};
    }
  }
  double cpu_split_ns = 0;
  for (const uint64_t ns : body.gauges().cpu_ns()) cpu_split_ns += static_cast<double>(ns);
  if (judgement.belief == Belief::kPlausible &&
      cpu_split_ns > cpu_count * length_ns * kSlack + cpu_count * kSlackNs) {
    judgement = {Belief::kImplausible,
                 absl::StrCat("gauges: CPU split of ", cpu_split_ns / kNsPerS, " s in an epoch of ",
                              length_ns / kNsPerS, " s on ", cpu_count, " CPUs")};
  }
  return judgement;
}

}  // namespace telltale::ingest
