#include "collector/ingest/plausibility.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sketch/time_units.h"
#include "sketch/vital_ids.h"

namespace telltale::ingest {
namespace {

constexpr double kSlack = 1.05;    // clocks of CPUs and epoch differ a little
constexpr double kSlackNs = 50e6;  // ticks charged at the edges of an epoch
// One soft interrupt in 16 is timed and stands for all, and of an agent at its budget only those in
// 1/128 of the time: one that takes 10 ms is then more than 20 s.
constexpr double kEstimateSlackNs = 16 * 128 * 10e6;
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

// Time that only CPUs spend: no more than there are, for as long as the epoch was.
struct CpuTime {
  uint32_t number;  // of the vital or the column
  const char* name;
};
constexpr CpuTime kCpuVitals[] = {{TELLTALE_CPU, "cpu time"}, {TELLTALE_SOFTIRQ, "softirq time"}};
constexpr CpuTime kCpuColumns[] = {{v1::PROCESS_COLUMN_RUN_NS, "processes: run time"},
                                   {v1::PROCESS_COLUMN_USER_NS, "processes: user time"},
                                   {v1::PROCESS_COLUMN_SYSTEM_NS, "processes: system time"}};

const char* NameOf(std::span<const CpuTime> times, uint32_t number) {
  const auto found = std::ranges::find(times, number, &CpuTime::number);
  return found == times.end() ? nullptr : found->name;
}

Judgement MoreThanCpus(const char* name, double ns, double length_ns, double cpu_count) {
  return {Belief::kImplausible, absl::StrCat(name, " ", ns / kNsPerS, " s in an epoch of ",
                                             length_ns / kNsPerS, " s on ", cpu_count, " CPUs")};
}

// The kernel's own accounts of processes. They are read one after the other once the epoch has
// ended, so that some of the next one's time is in them: they have that second, too.
Judgement JudgeProcesses(const v1::ProcessTable& table, double length_ns, double seconds,
                         double cpu_count) {
  Judgement judgement;
  const double most = PossibleWeight(v1::UNIT_NANOSECONDS, seconds, cpu_count);
  const double cpu_limit = cpu_count * seconds * kNsPerS * kSlack;
  for (int place = 0; place < table.columns_size(); ++place) {
    const char* name = NameOf(kCpuColumns, table.columns(place));
    if (name == nullptr) continue;
    double sum = table.has_other() ? static_cast<double>(table.other().values(place)) : 0;
    for (const v1::ProcessRow& row : table.rows()) sum += static_cast<double>(row.values(place));
    if (sum > most) {
      return {Belief::kImpossible, absl::StrCat(name, " ", sum, " ns, at most ", most,
                                                " ns are possible in ", seconds, " s")};
    }
    if (judgement.belief == Belief::kPlausible && sum > cpu_limit) {
      judgement = MoreThanCpus(name, sum, length_ns, cpu_count);
    }
  }
  return judgement;
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
    const bool sampled = vital.id() == TELLTALE_SOFTIRQ && vital.estimated();
    const double cpu_limit =
        cpu_count * length_ns * kSlack + kSlackNs + (sampled ? kEstimateSlackNs : 0);
    const char* cpu_time = NameOf(kCpuVitals, vital.id());
    if (cpu_time != nullptr && judgement.belief == Belief::kPlausible && weight > cpu_limit) {
      judgement = MoreThanCpus(cpu_time, weight, length_ns, cpu_count);
    }
  }
  Judgement processes = JudgeProcesses(body.processes(), length_ns, seconds, cpu_count);
  if (processes.belief == Belief::kImpossible || judgement.belief == Belief::kPlausible) {
    judgement = std::move(processes);
  }
  if (judgement.belief == Belief::kImpossible) return judgement;
  double cpu_split_ns = 0;
  for (const uint64_t ns : body.gauges().cpu_ns()) cpu_split_ns += static_cast<double>(ns);
  if (judgement.belief == Belief::kPlausible &&
      cpu_split_ns > cpu_count * length_ns * kSlack + cpu_count * kSlackNs) {
    judgement = MoreThanCpus("gauges: CPU split of", cpu_split_ns, length_ns, cpu_count);
  }
  return judgement;
}

}  // namespace telltale::ingest
