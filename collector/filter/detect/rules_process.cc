// The rules of Chopstix 3.2 that speak of one process and its CPU: busy loop (1), held from the
// CPU (7). Thresholds are of one CPU or of one thread, so that they mean the same on every machine.

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/longest.h"
#include "collector/filter/detect/rule.h"
#include "collector/filter/detect/rules.h"

namespace telltale::filter {
namespace {

// The CPU is busy, next to nothing is asked of the kernel, and the cache serves all memory traffic.
// Without hardware counters few places of the code take all the time instead; where they are many,
// as of a loop that an interpreter goes round, it must have gone on for five epochs, and for longer
// than this program computed here within a week or two, and run for a third of a CPU: of a compiler
// that hardly gets to run nobody can tell what it would ask for. What grows meanwhile, be it with
// few faults of huge pages, gets on with something. That it spends its time in the same places as
// in the epoch before would tell nothing sooner: what an interpreter computes for long is as steady
// as its loop.
//
// On a node that asks much of the kernel a row that tells of nothing may stand for some of it. A
// few times as much as counts for little may hide there; more is no busy loop for certain.
class BusyLoop : public Rule {
 public:
  static constexpr const char* kVitals[] = {"cpu", "llc", "syscall", nullptr};
  static constexpr DetectorFacts kFacts = {
      .name = "rule_busy_loop",
      .version = 13,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_LABELS | TELLTALE_NEEDS_PROCESSES,
      .about = "much CPU time without memory traffic or calls: a busy loop",
      .vitals = kVitals,
      .rule = 1,
      .make = Make<BusyLoop>};
  using Rule::Rule;

 private:
  // On a busy node it gets less than it wants: what counts is that it never stops wanting.
  static constexpr double kWants = 0.8, kGets = 0.02;  // CPUs
  static constexpr double kCalls = 50, kFaults = 20;   // per second of CPU time
  static constexpr double kSwitches = 20;              // per second
  static constexpr double kHidden = 4;                 // times as many, of what a row cannot tell
  static constexpr double kNothing = 1;                // calls per second
  static constexpr double kMisses = 1e5;               // per second of CPU time
  static constexpr size_t kPlaces = 3;
  static constexpr double kConcentrated = 0.7;
  static constexpr double kRuns = 0.3;      // CPUs, of a loop in many places
  static constexpr double kSeen = 0.15;     // of its CPU time, in those places for certain
  static constexpr uint32_t kLong = 4;      // epochs; a rule speaks with the next
  static constexpr uint32_t kLongest = 60;  // epochs: no program may take longer
  static constexpr double kGrows = 1e6;     // bytes per second
  static constexpr size_t kProcesses = 1'024;

  // Of a process, at the end of the last epoch.
  struct Past {
    double resident = 0;     // bytes
    uint32_t computing = 0;  // epochs in a row
    std::string program;     // of one that computes
  };
  // What it does in the epoch.
  struct Work {
    double cpus = 0, faults = 0, most_faults = 0;
    CallRate calls;
    bool computes = false;  // and nothing else
  };

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    std::vector<Case> cases;
    for (const telltale_filter_process* process : epoch.Processes()) {
      const Work work = WorkOf(epoch, *process);
      if (!work.computes) continue;
      std::string evidence = absl::StrCat(
          absl::StrFormat("%.3g CPUs, ", work.cpus), AtMostText(work.calls.told, work.calls.most),
          " calls/s, ", AtMostText(work.faults, work.most_faults), " faults/s");
      std::string against;
      std::vector<const char*> besides = {"syscall"};
      const double misses = epoch.Of(*process, "llc", "misses", true) / work.cpus;
      const double most_misses = epoch.AtMost(*process, "llc", "misses", true) / work.cpus;
      if (misses > kMisses) continue;
      // Where the row cannot tell, it is as without hardware counters.
      if (epoch.Vital("llc") != nullptr && most_misses <= kMisses) {
        absl::StrAppend(&evidence, ", ", AtMostText(misses, most_misses), " cache misses/s");
        against = "a computation that fits into the cache looks the same";
        besides.push_back("llc");
      } else {
        const std::string loops = LoopsIn(epoch, *process, work.cpus);
        if (loops.empty()) continue;
        absl::StrAppend(&evidence, ", ", loops);
        against = "without hardware counters a long or tight computation looks the same";
      }
      const std::string text = ProcessText(*process);
      Case found{Who(*process), ProgramOf(*process), {}, std::move(besides)};
      found.found.vital = "cpu";
      found.found.subject = text;
      found.found.value = work.cpus;
      found.found.deviation = 0.1;
      found.found.text = absl::StrCat(text, " ran ", OfEpoch(epoch, work.cpus), " and asked ",
                                      work.calls.most > kNothing ? "next to nothing" : "nothing",
                                      " of the kernel: a busy loop");
      found.found.evidence = evidence;
      found.found.against = absl::StrCat(against, EndedBefore(*process));
      found.found.cause = "busy loop";
      found.found.facts.Figure("ran", work.cpus * epoch.seconds(), "s")
          .FigureIf(work.calls.most <= work.calls.told, "calls", work.calls.told, "1/s")
          .FigureIf(work.most_faults <= work.faults, "faults", work.faults, "1/s");
      found.found.next = absl::StrCat("telltale stacks --vital cpu --process ", process->pid);
      cases.push_back(std::move(found));
    }
    return cases;
  }

  // A computation ends; what came to an end before may do so again.
  std::string EndedBefore(const telltale_filter_process& process) const {
    const uint32_t longest = longest_.Of(ProgramOf(process));
    if (longest == 0) return "";
    return absl::StrCat("; within the last week or two this program computed for ", longest,
                        " epochs on end, and stopped");
  }

  Work WorkOf(const RuleEpoch& epoch, const telltale_filter_process& process) const {
    Work work;
    work.cpus = epoch.Of(process, TELLTALE_PROCESS_RUN_NS) / 1e9;
    const double wants = work.cpus + epoch.Of(process, TELLTALE_PROCESS_QUEUE_NS) / 1e9;
    if (process.pid == 0 || process.exe[0] == '\0' || wants < kWants || work.cpus < kGets) {
      return work;
    }
    work.calls = Calls(epoch, process);
    for (const uint32_t column : {TELLTALE_PROCESS_FAULTS_MINOR, TELLTALE_PROCESS_FAULTS_MAJOR}) {
      work.faults += epoch.Of(process, column);
      work.most_faults += epoch.AtMost(process, column);
    }
    const auto few = [](double told, double most, double limit) {
      return told <= limit && most <= kHidden * limit;
    };
    constexpr uint32_t kWaits = TELLTALE_PROCESS_SWITCHES_VOLUNTARY;
    work.computes = epoch.Vital("syscall") != nullptr &&
                    few(work.calls.told, work.calls.most, kCalls * work.cpus) &&
                    few(work.faults, work.most_faults, kFaults * work.cpus) &&
                    few(epoch.Of(process, kWaits), epoch.AtMost(process, kWaits), kSwitches) &&
                    !Grows(epoch, process);
    return work;
  }

  bool Grows(const RuleEpoch& epoch, const telltale_filter_process& process) const {
    const auto before = past_.find(Who(process));
    return before != past_.end() &&
           Resident(epoch, process) - before->second.resident > kGrows * epoch.seconds();
  }

  // Where it goes round, as evidence; "": it may get on with something.
  std::string LoopsIn(const RuleEpoch& epoch, const telltale_filter_process& process,
                      double cpus) const {
    const auto [share, seen] = TopPlaces(epoch, process);
    if (share >= kConcentrated && seen >= kSeen) {
      return absl::StrCat(PercentText(share), " of what was sampled of it in ", kPlaces,
                          " places of the code");
    }
    if (cpus < kRuns) return "";
    const auto past = past_.find(Who(process));
    const uint32_t computing = 1 + (past == past_.end() ? 0 : past->second.computing);
    if (computing < kLong || computing <= longest_.Of(ProgramOf(process))) return "";
    return absl::StrCat("for ", computing,
                        " epochs on end; it did not compute so long within the last week");
  }

  void PassHole(double) override { NoteEnds({}); }

  void NoteUsual(const RuleEpoch& epoch, const std::set<std::string>&) override {
    longest_.Pass(epoch.epoch().end_ns);
    std::map<std::pair<uint32_t, uint64_t>, Past> now;
    for (const telltale_filter_process* process : epoch.Processes()) {
      if (process->pid == 0 || now.size() >= kProcesses) continue;
      const auto who = Who(*process);
      Past& past = now[who];
      past.resident = Resident(epoch, *process);
      if (!WorkOf(epoch, *process).computes) continue;
      const auto before = past_.find(who);
      past.computing = 1 + (before == past_.end() ? 0 : before->second.computing);
      past.program = ProgramOf(*process);
    }
    NoteEnds(std::move(now));
  }

  // Of those that computed and do not `now`.
  void NoteEnds(std::map<std::pair<uint32_t, uint64_t>, Past> now) {
    for (const auto& [who, past] : past_) {
      const auto after = now.find(who);
      if (past.computing < kLong || (after != now.end() && after->second.computing > 0)) continue;
      longest_.Note(past.program, std::min(past.computing, kLongest));
    }
    past_ = std::move(now);
  }

  void SaveUsual(StateWriter& to) const override {
    to.Map(past_, [&](const Past& past) {
      to.Put(past.resident);
      to.Put(past.computing);
      to.Text(past.program);
    });
    longest_.Save(to);
  }
  void LoadUsual(StateReader& from) override {
    from.Map(past_, [&](Past& past) {
      past.resident = from.Get<double>();
      past.computing = from.Get<uint32_t>();
      past.program = from.Text();
    });
    longest_.Load(from);
  }

  std::map<std::pair<uint32_t, uint64_t>, Past> past_;  // by pid and start
  Longest longest_;                                     // that a program computed, until it stopped

  // What its heaviest places take: of what is certain of all its places, and of its CPU time. What
  // is certain of a place is the last power it passed, on a busy node half of its weight or a
  // quarter; but all places of a program fall short by as much. A place stands among the labels
  // once for each stack that led to it, each time with the weight of the whole place.
  static std::pair<double, double> TopPlaces(const RuleEpoch& epoch,
                                             const telltale_filter_process& process) {
    std::map<std::pair<uint32_t, uint64_t>, double> low;  // seconds, by user and place
    for (const telltale_filter_label* label : epoch.Labels("cpu")) {
      if (std::string_view(label->exe) != process.exe) continue;
      double& of = low[{label->uid, label->values > 0 ? label->value[0] : 0}];
      of = std::max(of, static_cast<double>(label->low) / 1e9);
    }
    std::vector<double> heaviest;
    for (const auto& [place, seconds] : low) heaviest.push_back(seconds);
    std::ranges::sort(heaviest, std::greater());
    double top = 0, sampled = 0, all = 0;
    for (size_t i = 0; i < heaviest.size(); ++i) {
      sampled += heaviest[i];
      if (i < kPlaces) top += heaviest[i];
    }
    // Labels are of the program: of all its processes.
    for (const telltale_filter_process* other : epoch.Processes()) {
      if (std::string_view(other->exe) == process.exe) {
        all += epoch.Of(*other, TELLTALE_PROCESS_RUN_NS) / 1e9;
      }
    }
    if (sampled <= 0 || all <= 0) return {0, 0};
    return {top / sampled, top / (all * epoch.seconds())};
  }
};

// A process could run and does not get to. Where it waited longer than all CPUs can have been busy
// at the same time, that is told at once: a thread that may run anywhere finds a free one then. Not
// so one that waits for less than a turn each time: many threads wake together and wait for each
// other. How many of its threads wanted a CPU at the same time is not known, only how many did on
// average. Where CPUs are wanted by many, waiting is fair sharing, and a turn comes after a few
// milliseconds for each who waits: told is who waits twenty times as long at a time. Who was given
// a low priority waits for all others because somebody wanted that, also on a node that was idle
// for the rest of the epoch. Where CPUs change hands very often a row may leave out how often its
// process waited: then what counts is how long a wait took at least, or one that was sampled. Where
// one cgroup is watched alone nobody knows who else of its host wanted the CPUs: there only a limit
// is told.
class HeldFromCpu : public Rule {
 public:
  static constexpr const char* kVitals[] = {"cpu", "sched_delay", nullptr};
  static constexpr DetectorFacts kFacts = {
      .name = "rule_held",
      .version = 13,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_LABELS | TELLTALE_NEEDS_SAMPLES |
               TELLTALE_NEEDS_PROCESSES,
      .about =
          "a process held from the CPU by a limit, a binding, a small weight or a real-time task",
      .vitals = kVitals,
      .rule = 7,
      .make = Make<HeldFromCpu>};
  using Rule::Rule;

 private:
  static constexpr double kQueued = 0.5;  // threads
  static constexpr double kSpare = 0.25;  // of all CPUs: held abnormally
  static constexpr double kLess = 0.5;    // it ran less than so much of what it was queued
  static constexpr double kAtOnce = 1.5;  // threads that want a CPU at a time, of the average
  static constexpr double kTurn = 0.004;  // seconds: what each runs before the next
  static constexpr double kTurns = 20, kLongest = 0.1;  // seconds at a time, at least
  static constexpr uint64_t kUsual = 120;               // priority of who was given none
  static constexpr uint64_t kIdle = 5;                  // policy: to run where nobody else wants to
  static constexpr uint32_t kStateDetail = 3;           // place of `state` among the details
  static constexpr double kNearlyAll = 0.8;             // of the time it waited
  static constexpr double kAsLong = 0.5;                // of it, for others to count
  static constexpr double kMostOf = 0.5;                // of it, throttled: the limit is the reason
  static constexpr uint32_t kFifo = 1, kRoundRobin = 2, kDeadline = 6;  // policies

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    std::vector<Case> cases;
    double busy = 0;
    for (const char* sub : {"user", "kernel", "irq"}) {
      const auto rate = epoch.Rate("cpu", sub);
      if (!rate.has_value()) return cases;
      busy += *rate;
    }
    const double cpus = epoch.epoch().cpus;
    if (cpus <= 0) return cases;
    const bool crowded = busy > (1 - kSpare) * cpus;
    const double wanting = busy + epoch.Rate("sched_delay", "woken").value_or(0) +
                           epoch.Rate("sched_delay", "preempted").value_or(0);
    const double fair = kTurn * std::max(1.0, wanting / cpus);
    for (const telltale_filter_process* process : epoch.Processes()) {
      const double queued = epoch.Of(*process, TELLTALE_PROCESS_QUEUE_NS) / 1e9;
      const double ran = epoch.Of(*process, TELLTALE_PROCESS_RUN_NS) / 1e9;
      if (process->pid == 0 || process->exe[0] == '\0') continue;
      if (queued < kQueued) continue;
      if (const double limited = Limited(epoch, *process); limited >= kMostOf * queued) {
        cases.push_back(ByLimit(epoch, *process, queued, ran, limited));
        continue;
      }
      if (ran > kLess * queued || OfACgroup()) continue;
      const Wait wait = WaitOf(epoch, *process);
      const double turn = AtATime(epoch, *process, queued, wait);
      if (turn < (crowded ? std::max(kTurns * fair, kLongest) : kTurn)) continue;
      if (!crowded && queued <= busy / cpus * AtOnce(epoch, *process, queued + ran)) continue;
      if (wait.low) continue;
      const telltale_filter_process* instead = Instead(epoch, *process, wait, queued);
      const std::string text = ProcessText(*process);
      Case found{Who(*process), ProgramOf(*process), {}, {"cpu"}};
      found.found.vital = "sched_delay";
      found.found.subject = text;
      found.found.value = queued;
      found.found.deviation = 0.1;
      found.found.text = absl::StrCat(
          text, " could run and was held from the CPU for ", OfEpoch(epoch, queued), ", ",
          crowded ? absl::StrFormat("%.0f ms at a time, where its turn ought to come after %.0f",
                                    turn * 1e3, fair * 1e3)
                  : absl::StrFormat("while %.3g of %.0f CPUs had nothing to do", cpus - busy, cpus),
          instead == nullptr ? "" : InsteadText(epoch, *instead),
          process->cgroup[0] == '\0' ? "" : absl::StrCat("; its cgroup is ", process->cgroup));
      found.found.evidence = absl::StrFormat("queued %.3g, ran %.3g threads", queued, ran);
      found.found.against =
          absl::StrCat(OthersText(epoch, *process, queued, crowded),
                       "a process bound to one busy CPU waits like one whose cgroup has little "
                       "weight");
      found.found.cause = instead != nullptr && IsRealTime(*instead)
                              ? "held from the CPU abnormally: by a real-time task"
                              : "held from the CPU abnormally: a binding, a small weight or a "
                                "real-time task";
      found.found.next =
          absl::StrCat("telltale stacks --vital sched_delay --process ", process->pid);
      found.found.facts.Figure("held", queued * epoch.seconds(), "s")
          .Figure("ran", ran * epoch.seconds(), "s")
          .Figure("at_a_time", turn, "s")
          .Name("instead", instead == nullptr ? "" : ProcessText(*instead));
      cases.push_back(std::move(found));
    }
    return cases;
  }

  bool OfACgroup() const { return host().scope != nullptr && host().scope[0] != '\0'; }

  // Who else waited: of many it is no case of their own.
  static std::string OthersText(const RuleEpoch& epoch, const telltale_filter_process& process,
                                double queued, bool crowded) {
    size_t others = 0;
    for (const telltale_filter_process* other : epoch.Processes()) {
      if (other->pid == 0 || other == &process) continue;
      others += epoch.Of(*other, TELLTALE_PROCESS_QUEUE_NS) / 1e9 >= kAsLong * queued ? 1 : 0;
    }
    if (others == 0) return "";
    return absl::StrCat(
        others, " other ", others == 1 ? "process was" : "processes were",
        " queued for half as long or longer: ",
        crowded ? "the node may lack CPUs; " : "what holds them all may be meant to; ");
  }

  // Threads of it that may have wanted a CPU at the same time; `wanted` one on average.
  static double AtOnce(const RuleEpoch& epoch, const telltale_filter_process& process,
                       double wanted) {
    const double threads = epoch.Of(process, TELLTALE_PROCESS_THREADS) * epoch.seconds();
    const double most = kAtOnce * wanted;
    return std::max(1.0, threads >= 1 ? std::min(threads, most) : most);
  }

  // As far as samples tell.
  struct Wait {
    bool low = false;             // it was given a priority below the usual one
    std::optional<uint32_t> cpu;  // on which a wait of it ended
    double seconds = 0;           // that one took; of one that goes on, so far
  };

  // Seconds it waits for each turn; of a wait that goes on, the epoch.
  static double AtATime(const RuleEpoch& epoch, const telltale_filter_process& process,
                        double queued, const Wait& wait) {
    double told = 0, most = 0;
    for (const char* sub : {"woken", "preempted"}) {
      told += epoch.Of(process, "sched_delay", sub, false) * epoch.seconds();
      most += epoch.AtMost(process, "sched_delay", sub, false) * epoch.seconds();
    }
    const double least = queued * epoch.seconds() / std::max(most, 1.0);
    return most > told ? std::max(least, wait.seconds) : least;
  }

  // The heaviest that ended; else what is known of one that goes on, or of several in one sum.
  static Wait WaitOf(const RuleEpoch& epoch, const telltale_filter_process& process) {
    Wait open;
    for (const telltale_filter_label* label : epoch.Labels("sched_delay")) {
      const telltale_filter_sample* wait = label->exemplar;
      if (wait == nullptr || wait->pid != process.pid || wait->details <= kStateDetail) continue;
      const bool low = wait->detail[0] > kUsual || wait->detail[1] == kIdle;
      if (wait->detail[kStateDetail] == 0) return {low, wait->cpu, Took(*wait, kStateDetail)};
      open.low = low;
      open.seconds = std::max(open.seconds, Took(*wait, kStateDetail));
    }
    return open;
  }

  static bool IsRealTime(const telltale_filter_process& process) {
    return process.policy == kFifo || process.policy == kRoundRobin || process.policy == kDeadline;
  }

  // Who ran on its CPU nearly as long as it waited. Not who had the CPU right before it: where the
  // kernel makes a real-time task give way for a moment, that is often another one that waited.
  // Where samples do not tell its CPU, a real-time task that ran so long.
  static const telltale_filter_process* Instead(const RuleEpoch& epoch,
                                                const telltale_filter_process& held,
                                                const Wait& wait, double queued) {
    const auto fits = [&](const telltale_filter_process* process) {
      return process != nullptr && process->pid != held.pid &&
             epoch.Of(*process, TELLTALE_PROCESS_RUN_NS) / 1e9 >= kNearlyAll * queued;
    };
    for (const telltale_filter_label* label : epoch.Labels("cpu")) {
      const telltale_filter_sample* tick = label->exemplar;
      if (tick == nullptr || !wait.cpu.has_value() || tick->cpu != *wait.cpu) continue;
      const telltale_filter_process* process = epoch.Process(tick->pid);
      if (fits(process)) return process;
    }
    for (const telltale_filter_process* process : epoch.Processes()) {
      if (process->pid != 0 && IsRealTime(*process) && fits(process)) return process;
    }
    return nullptr;
  }

  static std::string InsteadText(const RuleEpoch& epoch, const telltale_filter_process& process) {
    const double ran = epoch.Of(process, TELLTALE_PROCESS_RUN_NS) / 1e9;
    const char* policy = process.policy == kFifo       ? "SCHED_FIFO"
                         : process.policy == kDeadline ? "SCHED_DEADLINE"
                                                       : "SCHED_RR";
    return absl::StrCat("; on its CPU ran ", ProcessText(process),
                        IsRealTime(process)
                            ? absl::StrCat(", a real-time task (", policy, ", priority ",
                                           process.real_time_priority, ")")
                            : "",
                        ", ", OfEpoch(epoch, ran));
  }

  // Threads that the limit of a cgroup held on average, of all in the cgroup.
  static double Limited(const RuleEpoch& epoch, const telltale_filter_process& process) {
    if (process.throttled_periods == 0) return 0;
    return static_cast<double>(process.throttled_ns) / 1e9 / epoch.whole_seconds();
  }

  static Case ByLimit(const RuleEpoch& epoch, const telltale_filter_process& process, double queued,
                      double ran, double limited) {
    const std::string text = ProcessText(process);
    Case held{Who(process), ProgramOf(process), {}};
    Finding& found = held.found;
    found.vital = "sched_delay";
    found.subject = text;
    found.cgroup = process.throttled_cgroup;
    found.value = queued;
    found.deviation = 0.1;
    found.text = absl::StrCat(text, " could run and was held from the CPU for ",
                              OfEpoch(epoch, queued), ": throttled, cgroup ",
                              process.throttled_cgroup, " was over its CPU limit in ",
                              process.throttled_periods, " periods, ", OfEpoch(epoch, limited));
    found.evidence =
        absl::StrFormat("queued %.3g, ran %.3g, throttled %.3g threads", queued, ran, limited);
    found.against = absl::StrFormat(
        "it got %.3g CPUs: a limit that is meant to give it no more holds it like this", ran);
    found.cause = "held from the CPU abnormally: the CPU limit of its cgroup";
    found.next = absl::StrCat("telltale stacks --vital sched_delay --process ", process.pid);
    found.facts.Figure("held", queued * epoch.seconds(), "s")
        .Figure("ran", ran * epoch.seconds(), "s")
        .Figure("throttled", limited * epoch.seconds(), "s")
        .Figure("throttled_periods", static_cast<double>(process.throttled_periods), "1");
    return held;
  }
};

}  // namespace

const telltale_filter* BusyLoopFilter() { return FilterOf<BusyLoop>(); }
const telltale_filter* HeldFromCpuFilter() { return FilterOf<HeldFromCpu>(); }

}  // namespace telltale::filter
