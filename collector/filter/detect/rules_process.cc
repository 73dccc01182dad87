// The rules of Chopstix 3.2 that speak of one process: busy loop (1), blocked (5), held from the
// CPU (7), busy loop around a failing call (8). Thresholds are of one CPU or of one thread, so that
// they mean the same on every machine.

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/rule.h"
#include "collector/filter/detect/rules.h"

namespace telltale::filter {
namespace {

std::pair<uint32_t, uint64_t> Who(const telltale_filter_process& process) {
  return {process.pid, process.start_ns};
}

double Calls(const RuleEpoch& epoch, const telltale_filter_process& process) {
  return epoch.Of(process, "syscall", "ok", false) + epoch.Of(process, "syscall", "failed", false);
}

// "44.1 s of the last minute": how long of the epoch, all threads together.
std::string OfEpoch(const RuleEpoch& epoch, double per_second) {
  const double seconds = epoch.seconds();
  return absl::StrFormat("%.3g s of %.0f s", per_second * seconds, seconds);
}

// The CPU is busy, next to nothing is asked of the kernel, and either the cache serves all memory
// traffic or, without hardware counters, few places of the code take all the time.
class BusyLoop : public Rule {
 public:
  static constexpr const char* kVitals[] = {"cpu", "llc", "syscall", nullptr};
  static constexpr DetectorFacts kFacts = {
      .name = "rule_busy_loop",
      .version = 1,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_LABELS | TELLTALE_NEEDS_PROCESSES,
      .about = "much CPU time without memory traffic or calls: a busy loop",
      .vitals = kVitals,
      .rule = 1,
      .make = Make<BusyLoop>};
  using Rule::Rule;

 private:
  static constexpr double kCpus = 0.8, kCalls = 50, kFaults = 20, kSwitches = 20;  // per second
  static constexpr double kMisses = 1e5;  // per second of CPU time
  static constexpr size_t kPlaces = 3;
  static constexpr double kConcentrated = 0.7;

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    std::vector<Case> cases;
    for (const telltale_filter_process* process : epoch.Processes()) {
      const double cpus = epoch.Of(*process, TELLTALE_PROCESS_RUN_NS) / 1e9;
      if (process->pid == 0 || process->exe[0] == '\0' || cpus < kCpus) continue;
      const double calls = Calls(epoch, *process);
      const double faults = epoch.Of(*process, TELLTALE_PROCESS_FAULTS_MINOR) +
                            epoch.Of(*process, TELLTALE_PROCESS_FAULTS_MAJOR);
      if (epoch.Vital("syscall") == nullptr || calls > kCalls * cpus || faults > kFaults * cpus) {
        continue;
      }
      if (epoch.Of(*process, TELLTALE_PROCESS_SWITCHES_VOLUNTARY) > kSwitches) continue;
      std::string evidence =
          absl::StrFormat("%.3g CPUs, %.3g calls/s, %.3g faults/s", cpus, calls, faults);
      std::string against;
      if (epoch.Vital("llc") != nullptr) {
        const double misses = epoch.Of(*process, "llc", "misses", true) / cpus;
        if (misses > kMisses) continue;
        absl::StrAppend(&evidence, absl::StrFormat(", %.3g cache misses/s", misses));
        against = "a computation that fits into the cache looks the same";
      } else {
        const double share = TopPlaces(epoch, *process);
        if (share < kConcentrated) continue;
        absl::StrAppend(&evidence, ", ", PercentText(share), " of it in ", kPlaces,
                        " places of the code");
        against = "without hardware counters a tight computation looks the same";
      }
      const std::string text = ProcessText(*process);
      Case found{Who(*process), ProgramOf(*process), {}};
      found.found.vital = "cpu";
      found.found.subject = text;
      found.found.value = cpus;
      found.found.deviation = 0.1;
      found.found.text = absl::StrCat(text, " ran ", OfEpoch(epoch, cpus),
                                      " and asked nothing of the kernel: a busy loop");
      found.found.evidence = evidence;
      found.found.against = against;
      found.found.cause = "busy loop";
      found.found.next = absl::StrCat("telltale stacks --vital cpu --process ", process->pid);
      cases.push_back(std::move(found));
    }
    return cases;
  }

  // Share of its CPU time that its heaviest places take for certain.
  static double TopPlaces(const RuleEpoch& epoch, const telltale_filter_process& process) {
    double sum = 0, all = 0;
    size_t places = 0;
    for (const telltale_filter_label* label : epoch.Labels("cpu")) {
      if (std::string_view(label->exe) != process.exe || places == kPlaces) continue;
      sum += static_cast<double>(label->low) / 1e9;
      ++places;
    }
    // Labels are of the program: of all its processes.
    for (const telltale_filter_process* other : epoch.Processes()) {
      if (std::string_view(other->exe) == process.exe) {
        all += epoch.Of(*other, TELLTALE_PROCESS_RUN_NS) / 1e9;
      }
    }
    return all > 0 ? std::min(1.0, sum / (all * epoch.seconds())) : 0;
  }
};

// A process waits for a disk, a lock, a socket or inside the kernel for more than half the time of
// one thread, which it usually does not. Who ends its waits, or holds the lock, and what that one
// waits for itself, is said where samples tell; an open wait counts up to the end of the epoch.
class Blocked : public Rule {
 public:
  static constexpr const char* kVitals[] = {"blocking", "lock", nullptr};
  static constexpr DetectorFacts kFacts = {
      .name = "rule_blocked",
      .version = 1,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_LABELS | TELLTALE_NEEDS_SAMPLES |
               TELLTALE_NEEDS_PROCESSES,
      .about = "what a blocked process waits for, and who holds it",
      .vitals = kVitals,
      .rule = 5,
      .make = Make<Blocked>};
  using Rule::Rule;

 private:
  static constexpr double kWaiting = 0.5;  // threads
  struct Class {
    const char* sub;
    const char* what;
  };
  // Sockets are left out: waiting for the next request is what servers do.
  static constexpr Class kClasses[] = {
      {"disk", "a disk"}, {"uninterruptible", "something inside the kernel"}, {"lock", "a lock"}};

  static const Class* Worst(const RuleEpoch& epoch, const telltale_filter_process& process,
                            double* waiting) {
    const Class* worst = nullptr;
    *waiting = 0;
    for (const Class& of : kClasses) {
      const double seconds = epoch.Of(process, "blocking", of.sub, true) / 1e9;
      if (seconds <= *waiting) continue;
      *waiting = seconds;
      worst = &of;
    }
    return worst;
  }

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    std::vector<Case> cases;
    for (const telltale_filter_process* process : epoch.Processes()) {
      // Kernel threads wait for work without a reason to.
      if (process->pid == 0 || process->exe[0] == '\0') continue;
      double waiting = 0;
      const Class* of = Worst(epoch, *process, &waiting);
      if (of == nullptr || waiting < kWaiting) continue;
      const double times = epoch.Of(*process, "blocking", of->sub, false) * epoch.seconds();
      const std::string text = ProcessText(*process);
      Case found{Who(*process), ProgramOf(*process), {}};
      found.found.vital = "blocking";
      found.found.sub = of->sub;
      found.found.subject = text;
      found.found.value = waiting;
      found.found.deviation = 0.1;
      found.found.text = absl::StrCat(text, " waited ", OfEpoch(epoch, waiting),
                                      times >= 1 ? absl::StrFormat(" in %.0f waits", times)
                                                 : std::string(" in one wait, still open"),
                                      " for ", of->what, Holder(epoch, *process, *of));
      found.found.evidence = absl::StrFormat("blocked %.3g, ran %.3g, queued %.3g threads", waiting,
                                             epoch.Of(*process, TELLTALE_PROCESS_RUN_NS) / 1e9,
                                             epoch.Of(*process, TELLTALE_PROCESS_QUEUE_NS) / 1e9);
      found.found.against = Against(epoch, *process, *of);
      found.found.cause = absl::StrCat("blocked on ", of->what);
      found.found.next =
          absl::StrCat("telltale stacks --vital blocking/", of->sub, " --process ", process->pid);
      cases.push_back(std::move(found));
    }
    return cases;
  }

  // Where most others wait as well it is no fault of this process.
  static std::string Against(const RuleEpoch& epoch, const telltale_filter_process& process,
                             const Class& of) {
    size_t others = 0;
    for (const telltale_filter_process* other : epoch.Processes()) {
      if (other != &process && other->exe[0] != '\0' &&
          epoch.Of(*other, "blocking", of.sub, true) / 1e9 >= kWaiting) {
        ++others;
      }
    }
    return others == 0 ? "a program that only reads or writes waits like this without a fault"
                       : absl::StrCat(others, " other processes wait for the same kind of thing");
  }

  static std::string Holder(const RuleEpoch& epoch, const telltale_filter_process& process,
                            const Class& of) {
    const telltale_filter_sample* wait = nullptr;
    const int sub = RuleEpoch::SubOf(*epoch.Vital("blocking"), of.sub);
    for (const telltale_filter_label* label : epoch.Labels("blocking")) {
      if (label->exemplar == nullptr || label->exemplar->pid != process.pid) continue;
      if (static_cast<int>(label->sub) != sub) continue;
      wait = label->exemplar;
      break;
    }
    // A lock vital knows the owner of some locks by its number.
    for (const telltale_filter_label* label : epoch.Labels("lock")) {
      const telltale_filter_sample* sample = label->exemplar;
      if (std::string_view(of.sub) != "lock" || sample == nullptr) break;
      if (sample->pid != process.pid || sample->details < 2 || sample->detail[1] == 0) continue;
      return absl::StrCat("; it is held by ",
                          Named(epoch, static_cast<uint32_t>(sample->detail[1]), ""));
    }
    if (wait == nullptr) return "";
    if (wait->holder_pid != 0) {
      return absl::StrCat("; it is held by ", Named(epoch, wait->holder_pid, wait->holder_comm));
    }
    if (wait->waker_pid == 0) return "";
    return absl::StrCat("; its waits are ended by ",
                        Named(epoch, wait->waker_pid, wait->waker_comm));
  }

  // Whose number it is, and what that one waits for itself.
  static std::string Named(const RuleEpoch& epoch, uint32_t pid, const char* comm) {
    const telltale_filter_process* process = epoch.Process(pid);
    if (process == nullptr) {
      return *comm == '\0' ? absl::StrCat("pid ", pid) : absl::StrCat(comm, " (pid ", pid, ")");
    }
    double waiting = 0;
    const Class* of = Worst(epoch, *process, &waiting);
    if (of == nullptr || waiting < kWaiting) return ProcessText(*process);
    return absl::StrCat(ProcessText(*process), ", itself waiting for ", of->what);
  }
};

// A process could run and does not get to, on a node that has CPUs to spare or has none.
class HeldFromCpu : public Rule {
 public:
  static constexpr const char* kVitals[] = {"cpu", nullptr};
  static constexpr DetectorFacts kFacts = {
      .name = "rule_held",
      .version = 1,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_PROCESSES,
      .about = "a process held from the CPU, normally or abnormally",
      .vitals = kVitals,
      .rule = 7,
      .make = Make<HeldFromCpu>};
  using Rule::Rule;

 private:
  static constexpr double kQueued = 0.5;  // threads
  static constexpr double kSpare = 0.25;  // of all CPUs: held abnormally
  static constexpr double kLess = 0.5;    // it ran less than so much of what it was queued

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    std::vector<Case> cases;
    double busy = 0;
    for (const char* sub : {"user", "kernel", "irq"}) {
      const auto rate = epoch.Rate("cpu", sub);
      if (!rate.has_value()) return cases;
      busy += *rate;
    }
    const double cpus = epoch.epoch().cpus;
    // A busy node makes all wait: that is fair sharing, and the node's matter.
    if (cpus <= 0 || busy > (1 - kSpare) * cpus) return cases;
    for (const telltale_filter_process* process : epoch.Processes()) {
      const double queued = epoch.Of(*process, TELLTALE_PROCESS_QUEUE_NS) / 1e9;
      const double ran = epoch.Of(*process, TELLTALE_PROCESS_RUN_NS) / 1e9;
      if (process->pid == 0 || process->exe[0] == '\0') continue;
      if (queued < kQueued || ran > kLess * queued) continue;
      const std::string text = ProcessText(*process);
      Case found{Who(*process), ProgramOf(*process), {}};
      found.found.vital = "sched_delay";
      found.found.subject = text;
      found.found.value = queued;
      found.found.deviation = 0.1;
      found.found.text = absl::StrCat(
          text, " could run and was held from the CPU for ", OfEpoch(epoch, queued), ", while ",
          absl::StrFormat("%.3g of %.0f CPUs had nothing to do", cpus - busy, cpus),
          process->cgroup[0] == '\0' ? "" : absl::StrCat("; its cgroup is ", process->cgroup));
      found.found.evidence = absl::StrFormat("queued %.3g, ran %.3g threads", queued, ran);
      found.found.against =
          "a process bound to one busy CPU waits like one whose cgroup is throttled";
      found.found.cause =
          "held from the CPU abnormally: a CPU limit, a binding or a real-time task";
      found.found.next =
          absl::StrCat("telltale stacks --vital sched_delay --process ", process->pid);
      cases.push_back(std::move(found));
    }
    return cases;
  }
};

// Call after call fails, without a pause: the program does not look at what it is told.
class FailingCall : public Rule {
 public:
  static constexpr const char* kVitals[] = {"syscall", nullptr};
  static constexpr DetectorFacts kFacts = {.name = "rule_failing_call",
                                           .version = 1,
                                           .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_LABELS |
                                                    TELLTALE_NEEDS_SAMPLES |
                                                    TELLTALE_NEEDS_PROCESSES,
                                           .about = "a busy loop around a call that fails",
                                           .vitals = kVitals,
                                           .rule = 8,
                                           .make = Make<FailingCall>};
  using Rule::Rule;

 private:
  static constexpr double kFailed = 1'000;  // calls per second
  static constexpr double kShare = 0.4;     // of all its calls
  static constexpr double kCpus = 0.3;

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    std::vector<Case> cases;
    for (const telltale_filter_process* process : epoch.Processes()) {
      const double failed = epoch.Of(*process, "syscall", "failed", false);
      const double calls = Calls(epoch, *process);
      const double cpus = epoch.Of(*process, TELLTALE_PROCESS_RUN_NS) / 1e9;
      if (process->pid == 0 || process->exe[0] == '\0') continue;
      if (failed < kFailed || failed < kShare * calls || cpus < kCpus) continue;
      const std::string text = ProcessText(*process);
      Case found{Who(*process), ProgramOf(*process), {}};
      found.found.vital = "syscall";
      found.found.sub = "failed";
      found.found.subject = text;
      found.found.value = failed;
      found.found.deviation = kFailed / 6;
      found.found.text =
          absl::StrCat(text, " goes round a call that fails", What(epoch, *process), ": ",
                       absl::StrFormat("%.3g times a second, %.3g CPUs", failed, cpus));
      found.found.evidence = absl::StrCat(PercentText(failed / calls), " of its ",
                                          absl::StrFormat("%.3g", calls), " calls/s failed");
      found.found.against = "a program that polls without waiting does it on purpose";
      found.found.cause = "busy loop around a failing call";
      found.found.next =
          absl::StrCat("telltale stacks --vital syscall/failed --process ", process->pid);
      cases.push_back(std::move(found));
    }
    return cases;
  }

  static std::string What(const RuleEpoch& epoch, const telltale_filter_process& process) {
    const telltale_filter_vital* vital = epoch.Vital("syscall");
    const int sub = vital == nullptr ? -1 : RuleEpoch::SubOf(*vital, "failed");
    for (const telltale_filter_label* label : epoch.Labels("syscall")) {
      const telltale_filter_sample* sample = label->exemplar;
      if (static_cast<int>(label->sub) != sub || label->values == 0 || label->value[0] == 0)
        continue;
      if (sample == nullptr || sample->pid != process.pid) continue;
      std::string text = absl::StrCat(" (number ", label->value[0] - 1);
      // The result is zigzag: -11 is 21.
      if (sample->details > 1 && sample->detail[1] % 2 == 1) {
        absl::StrAppend(&text, ", ", ErrorText((sample->detail[1] + 1) / 2));
      }
      return text + ")";
    }
    return "";
  }
};

}  // namespace

const telltale_filter* BusyLoopFilter() { return FilterOf<BusyLoop>(); }
const telltale_filter* BlockedFilter() { return FilterOf<Blocked>(); }
const telltale_filter* HeldFromCpuFilter() { return FilterOf<HeldFromCpu>(); }
const telltale_filter* FailingCallFilter() { return FilterOf<FailingCall>(); }

}  // namespace telltale::filter
