// Rule 5 of Chopstix 3.2: what a blocked process is blocked on. It waits for a disk, a lock, a
// socket or inside the kernel for more than half the time of one thread, which it usually does not.
// Waits for a disk and inside the kernel add up: one who syncs each write waits for its pages, and
// then for the journal to be committed. Who waits for a CPU can wait for nothing else meanwhile:
// for a disk half of the rest is enough, if that is a fifth of its time and more than it runs. Who
// reads through files, as a search or a backup does, waits for each: nothing is wrong with that as
// long as the disk answers soon. Who ends its waits, or holds the lock, and what that one does
// itself, is said where samples tell; an open wait counts up to the end of the epoch. What a held
// agent counted part of the time and scaled up is never more than the process had threads for.
//
// Which disk it is, where in the kernel it waits and which thread holds the lock is said as far as
// samples tell; of a lock of the kernel they may tell it of another process of its program that
// waits in the same place. Of one wait that goes on it is enough if a sample told the place in an
// epoch before. Of the disk, its own or the one whose answer its holder or waker waits for, it is
// evidence that it is slower than usual, and speaks against it that it is not.
//
// Waiting in a futex or for a socket is also how threads wait for work. It counts only where more
// is known: the process worked before and hardly does now, or whoever it waits for is stuck; for
// sockets also that the node sends segments again, so what it waits for is lost on the way, or that
// it sends and nobody takes it; for locks also that a thread of its own keeps them for long, while
// none waits for anything from outside.

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/disk_latency.h"
#include "collector/filter/detect/open_waits.h"
#include "collector/filter/detect/rule.h"
#include "collector/filter/detect/rules.h"
#include "collector/filter/detect/waits.h"

namespace telltale::filter {
namespace {

constexpr double kOnBusyNode = 0.2;     // threads, of one that waits for a CPU between
constexpr double kSlowRead = 0.002;     // seconds a wait, on average
constexpr double kWorked = 0.05;        // CPUs, usually
constexpr double kStopped = 0.25;       // of it, now
constexpr double kRetransmits = 0.2;    // segments per second
constexpr double kLongHold = 0.02;      // seconds a wait, on average
constexpr double kOutside = 0.1;        // threads that wait for something from outside
constexpr double kHiddenOutside = 0.5;  // of which the row cannot tell: one that takes its turns
constexpr double kLongSend = 1;         // seconds a wait, on average
// Calls that wait for a socket until its peer takes something.
constexpr std::string_view kSends[] = {"sendto", "sendmsg",  "sendmmsg", "write",
                                       "writev", "pwrite64", "sendfile"};
constexpr double kOneThread = 1.05;  // waits; more are of several
constexpr double kMemory = 1.0 / 64;
constexpr size_t kPrograms = 512;

bool ReadsThrough(const RuleEpoch& epoch, const telltale_filter_process& process,
                  const Waits& waits) {
  return waits.most == &DiskWaits() && waits.threads < kSlowRead * waits.most_times &&
         epoch.Of(process, TELLTALE_PROCESS_READ_BYTES) >
             epoch.Of(process, TELLTALE_PROCESS_WRITE_BYTES);
}

bool IsBlocked(const RuleEpoch& epoch, const telltale_filter_process& process, const Waits& waits) {
  if (ReadsThrough(epoch, process, waits)) return false;
  if (waits.threads >= kWaiting) return true;
  const double queued = epoch.Of(process, TELLTALE_PROCESS_QUEUE_NS) / 1e9;
  return waits.most == &DiskWaits() && waits.threads >= kOnBusyNode && queued < 1 &&
         waits.threads >= kWaiting * (1 - queued) && waits.threads > Ran(epoch, process);
}

class Blocked : public Rule {
 public:
  static constexpr const char* kVitals[] = {"blocking", "lock", "retransmit", "disk_io", nullptr};
  static constexpr DetectorFacts kFacts = {
      .name = "rule_blocked",
      .version = 16,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_LABELS | TELLTALE_NEEDS_SAMPLES |
               TELLTALE_NEEDS_PROCESSES,
      .about = "what a blocked process waits for, and who holds it",
      .vitals = kVitals,
      .rule = 5,
      .make = Make<Blocked>};
  using Rule::Rule;

 private:
  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    std::vector<Case> cases;
    for (const telltale_filter_process* process : epoch.Processes()) {
      // Kernel threads wait for work without a reason to.
      if (process->pid == 0 || process->exe[0] == '\0' || epoch.Vital("blocking") == nullptr) {
        continue;
      }
      Waits waits = Forced(epoch, *process);
      Reason more;
      if (!IsBlocked(epoch, *process, waits)) {
        waits = ByChoice(epoch, *process);
        if (waits.threads < kWaiting) continue;
        more = NotByChoice(epoch, *process, *waits.most);
        if (more.evidence.empty()) continue;
      }
      cases.push_back(CaseOf(epoch, *process, waits, more));
    }
    return cases;
  }

  // Why it does not just wait for work; without evidence: nothing says so.
  struct Reason {
    std::string evidence;
    std::string cause;            // more than that it waits; may be empty
    const char* vital = nullptr;  // that it rests on besides the waits
  };
  Reason NotByChoice(const RuleEpoch& epoch, const telltale_filter_process& process,
                     const WaitClass& of) const {
    const Other other = OtherOf(epoch, process, of);
    const telltale_filter_process* named =
        other.pid == process.pid ? nullptr : epoch.Process(other.pid);
    std::string why = named == nullptr ? "" : StuckBy(epoch, *named);
    if (!why.empty() && other.holds) return {absl::StrCat("its holder is ", why), ""};
    const Reason alone = of.lock != nullptr ? KeptByItself(epoch, process, of, other)
                                            : SendsInVain(epoch, process, of);
    if (!alone.evidence.empty()) return alone;
    const auto usual = usual_.find(ProgramOf(process));
    const double ran = epoch.AtMost(process, TELLTALE_PROCESS_RUN_NS) / 1e9;
    const bool stopped =
        usual != usual_.end() && usual->second >= kWorked && ran < kStopped * usual->second;
    if (!stopped) return {};
    const std::string less =
        absl::StrCat("it ran ", AtMostText(Ran(epoch, process), ran),
                     absl::StrFormat(" CPUs where %.3g are usual", usual->second));
    if (!why.empty()) return {less, ""};
    const double again = epoch.Rate("retransmit", "segments").value_or(0);
    if (of.lock == nullptr) {
      if (again < kRetransmits) return {};
      return {absl::StrCat(less, absl::StrFormat(", %.3g segments/s are sent again", again)),
              "what it sends or waits for is lost on the way", "retransmit"};
    }
    return {other.pid == 0 ? "" : less, ""};
  }

  // Seconds, of waits that ended; of one that goes on, the epoch. Where the row cannot tell how
  // many there were, what they took at least.
  static double MeanWait(const RuleEpoch& epoch, const telltale_filter_process& process,
                         const WaitClass& of) {
    const double times = MostWaits(epoch, process, of) * epoch.seconds();
    return Waiting(epoch, process, of, true) / 1e9 * epoch.seconds() / std::max(times, 1.0);
  }

  // Threads that take turns at waiting for requests keep a lock meanwhile, too: then one of them
  // waits for something from outside.
  static Reason KeptByItself(const RuleEpoch& epoch, const telltale_filter_process& process,
                             const WaitClass& of, const Other& other) {
    if (!other.holds || other.pid != process.pid) return {};
    double outside = 0, most_outside = 0;
    for (const char* sub : {"socket", "pipe", "poll"}) {
      outside += epoch.Of(process, "blocking", sub, true) / 1e9;
      most_outside += epoch.AtMost(process, "blocking", sub, true) / 1e9;
    }
    const double mean = MeanWait(epoch, process, of);
    if (mean < kLongHold || outside >= kOutside || most_outside >= kHiddenOutside) return {};
    return {absl::StrFormat("a wait for it takes %.3g ms, and none of its threads waits for "
                            "anything from outside",
                            mean * 1e3),
            "its own threads keep it for long"};
  }

  // Of a load that its peer takes at its own pace, a wait ends soon.
  Reason SendsInVain(const RuleEpoch& epoch, const telltale_filter_process& process,
                     const WaitClass& of) const {
    double mean = MeanWait(epoch, process, of);
    // Without a count of its waits, one that was sampled tells how long they are.
    if (MostWaits(epoch, process, of) > Waiting(epoch, process, of, false)) {
      mean = std::max(mean, SampledWait(epoch, process, of));
    }
    if (mean < kLongSend) return {};
    const uint64_t number = open_waits_.PlaceOf(epoch, process, of.sub).call;
    if (number == 0) return {};
    const std::string call = CallText(host().machine, number - 1);
    if (std::ranges::find(kSends, call) == std::end(kSends)) return {};
    return {absl::StrFormat("it waits %.3g s in %s", mean, call),
            "its peer does not take what it sends"};
  }

  Case CaseOf(const RuleEpoch& epoch, const telltale_filter_process& process, const Waits& waits,
              const Reason& more) const {
    const WaitClass& of = *waits.most;
    const WaitPlace place = open_waits_.PlaceOf(epoch, process, of.sub);
    const std::string text = ProcessText(process);
    // Where all wait who have nothing to do says nothing.
    const std::string site = of.by_choice ? "" : place.site;
    const std::string what = WhatText(epoch, process, waits);
    const Other other = OtherOf(epoch, process, of);
    const DiskLatency::Told disk = latency_.Of(epoch, DiskBehind(epoch, process, of, other));
    Case found{Who(process), ProgramOf(process), {}};
    if (of.lock != nullptr) found.besides.push_back("lock");
    if (more.vital != nullptr) found.besides.push_back(more.vital);
    if (&of == &DiskWaits()) found.found.device = DiskName(epoch, DiskOf(epoch, process));
    found.found.site = site;
    found.found.vital = "blocking";
    found.found.sub = of.sub;
    found.found.subject = text;
    found.found.value = waits.threads;
    found.found.deviation = 0.1;
    found.found.text = absl::StrCat(text, waits.estimated > 0 ? " waited about " : " waited ",
                                    OfEpoch(epoch, waits.threads), InWaits(epoch, waits), " for ",
                                    what, SiteText(site), Named(epoch, other, process));
    found.found.evidence = absl::StrCat(
        absl::StrFormat("blocked %.3g, ran %.3g, queued %.3g threads", waits.threads,
                        Ran(epoch, process), epoch.Of(process, TELLTALE_PROCESS_QUEUE_NS) / 1e9),
        waits.estimated > 0
            ? absl::StrFormat(", of an estimate of %.3g: more than it had", waits.estimated)
            : std::string(),
        more.evidence.empty() ? "" : "; ", more.evidence, disk.evidence.empty() ? "" : "; ",
        disk.evidence,
        place.before
            ? "; where it waits was sampled in an epoch before, and it began no other wait "
              "of the kind since"
            : "");
    found.found.against =
        absl::StrCat(disk.against, disk.against.empty() ? "" : "; ", Against(epoch, process, of));
    found.found.cause =
        absl::StrCat("blocked on ", what, more.cause.empty() ? "" : ": ", more.cause);
    found.found.next =
        absl::StrCat("telltale stacks --vital blocking/", of.sub, " --process ", process.pid);
    const char* const whose = other.of_another ? "holder_for_another"
                              : other.holds    ? "holder"
                                               : "waker";
    found.found.facts.Figure("waited", waits.threads * epoch.seconds(), "s")
        .FigureIf(waits.most_times <= waits.times && waits.times * epoch.seconds() >= 1, "waits",
                  std::round(waits.times * epoch.seconds()), "1")
        .Figure("ran", Ran(epoch, process) * epoch.seconds(), "s")
        .Name("for", what)
        .Name(whose, OtherText(epoch, other, process))
        .Name("which_is", StuckText(epoch, other, process))
        .FigureIf(disk.await_s > 0, "await", disk.await_s, "s")
        .FigureIf(disk.usual_s > 0, "await_usual", disk.usual_s, "s");
    return found;
  }

  // 0: nobody waits for one, or samples do not tell which.
  static uint64_t DiskBehind(const RuleEpoch& epoch, const telltale_filter_process& process,
                             const WaitClass& of, const Other& other) {
    if (&of == &DiskWaits()) return DiskOf(epoch, process);
    const telltale_filter_process* named = epoch.Process(other.pid);
    if (named == nullptr || named == &process) return 0;
    const Waits waits = Forced(epoch, *named);
    return waits.threads >= kWaiting && waits.most == &DiskWaits() ? DiskOf(epoch, *named) : 0;
  }

  // In how many; "" where the row cannot tell. One that goes on may count as none.
  static std::string InWaits(const RuleEpoch& epoch, const Waits& waits) {
    const double times = waits.times * epoch.seconds();
    if (waits.most_times > waits.times) return "";
    if (times >= 1) return absl::StrFormat(" in %.0f wait%s", times, times < 1.5 ? "" : "s");
    return waits.threads > kOneThread ? " in waits that are still open"
                                      : " in one wait, still open,";
  }

  // Where most others wait as well it is no fault of this process.
  static std::string Against(const RuleEpoch& epoch, const telltale_filter_process& process,
                             const WaitClass& of) {
    if (of.by_choice) return "a load that went away leaves a program waiting for work like this";
    size_t others = 0;
    for (const telltale_filter_process* other : epoch.Processes()) {
      if (other != &process && other->exe[0] != '\0' &&
          Waiting(epoch, *other, of, true) / 1e9 >= kWaiting) {
        ++others;
      }
    }
    return others == 0 ? "a program that only reads or writes waits like this without a fault"
                       : absl::StrCat(others, " other processes wait for the same kind of thing");
  }

  void NoteUsual(const RuleEpoch& epoch, const std::set<std::string>& held) override {
    NoteWork(epoch, held);
    open_waits_.Note(epoch);
    latency_.Note(epoch);
  }
  // Moving averages of CPUs, by program, of the epochs in which the condition did not hold and it
  // did not just stand still.
  void NoteWork(const RuleEpoch& epoch, const std::set<std::string>& held) {
    std::map<std::string, double> most;  // of the processes of one program
    for (const telltale_filter_process* process : epoch.Processes()) {
      if (process->pid == 0 || process->exe[0] == '\0') continue;
      double& ran = most[ProgramOf(*process)];
      ran = std::max(ran, Ran(epoch, *process));
    }
    for (const auto& [program, ran] : most) {
      if (held.contains(program)) continue;
      if (usual_.size() >= kPrograms && !usual_.contains(program)) continue;
      const auto [usual, first] = usual_.try_emplace(program, ran);
      if (!first) usual->second += kMemory * (ran - usual->second);
    }
    std::erase_if(usual_, [&](const auto& entry) {
      return entry.second < 1e-3 && !most.contains(entry.first);
    });
  }
  void SaveUsual(StateWriter& to) const override {
    to.Map(usual_, [&](double cpus) { to.Put(cpus); });
    open_waits_.Save(to);
    latency_.Save(to);
  }
  void LoadUsual(StateReader& from) override {
    from.Map(usual_, [&](double& cpus) { cpus = from.Get<double>(); });
    open_waits_.Load(from);
    latency_.Load(from);
  }

  std::map<std::string, double> usual_;
  OpenWaits open_waits_;
  DiskLatency latency_;
};

}  // namespace

const telltale_filter* BlockedFilter() { return FilterOf<Blocked>(); }

}  // namespace telltale::filter
