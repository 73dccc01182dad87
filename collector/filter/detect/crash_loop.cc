// Rule 10 of Chopstix 3.2, of what comes back: a program that ends by a signal of its own making
// (SIGABRT, SIGSEGV ...) or is killed for want of memory, again and again, because something starts
// it anew. Who, how, where, how often and over which time. It is told when it ended so in two
// epochs running, or in three within half an hour, and is over when no further end came for twice
// as long as the last ones were apart. `vanished` speaks of what stays away.
//
// Exit codes do not count, for they cannot be told from answers: grep and test say no by them all
// day, and a job or a build that fails is started again as a service is. Nor does SIGKILL, where it
// was not for want of memory: somebody wanted it.

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/filter/detect/rule.h"
#include "collector/filter/detect/rules.h"
#include "collector/filter/detect/victims.h"
#include "sketch/time_units.h"
#include "storage/rollup/portable.h"

namespace telltale::filter {
namespace {

constexpr size_t kTimes = 3;  // epochs, within
constexpr uint64_t kWithinNs = 30 * 60 * kNsPerS;
constexpr uint64_t kOverdue = 2;  // times as long as the last ends were apart
constexpr size_t kPrograms = 512;

bool IsCrash(uint32_t signal) {
  switch (signal) {
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGSYS:
      return true;
    default:
      return false;
  }
}

class CrashLoop : public Rule {
 public:
  static constexpr DetectorFacts kFacts = {
      .name = "crash_loop",
      .version = 6,
      .needs = TELLTALE_NEEDS_PROCESSES | TELLTALE_NEEDS_EVENTS,
      .about = "a program that crashes or is killed for want of memory, again and again",
      .rule = 10,
      .make = Make<CrashLoop>};
  using Rule::Rule;

 private:
  // How one program of one user ended, each time within half an hour of the last.
  struct Ends {
    uint64_t first_ns = 0;                   // start of the epoch of the first
    std::array<uint64_t, kTimes> last_ns{};  // ends of the last epochs with any, newest first
    uint32_t times = 0, epochs = 0;
    uint32_t signal = 0;  // of the last; 0: killed for want of memory
    bool alike = true;    // all by that
    uint32_t pid = 0;     // of the last; 0: not told
    std::string user, cgroup;
  };
  using Programs = std::map<std::pair<std::string, uint32_t>, Ends>;  // by executable and user

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    std::vector<Case> cases;
    for (const auto& [who, ends] : With(epoch)) {
      if (GoesOn(ends, epoch.epoch())) cases.push_back(CaseOf(epoch, who, ends));
    }
    return cases;
  }

  static bool GoesOn(const Ends& ends, const telltale_filter_epoch& now) {
    const auto [newest, before, oldest] = ends.last_ns;
    if (newest == now.end_ns) return true;  // one epoch is none in a row yet
    if (oldest == 0 || newest - oldest > kWithinNs) return false;
    return now.end_ns - newest < kOverdue * std::max(newest - before, before - oldest);
  }

  // What is known when the epoch is over.
  Programs With(const RuleEpoch& epoch) const {
    const telltale_filter_epoch& of = epoch.epoch();
    Programs programs = programs_;
    std::erase_if(programs, [&](const auto& entry) {
      return entry.second.last_ns[0] + kWithinNs < of.start_ns;
    });
    const std::set<uint32_t> victims = NamelessVictims(of);
    for (uint32_t i = 0; i < of.event_count; ++i) {
      const auto& event = *TELLTALE_FILTER_AT(telltale_filter_event, of.events, i);
      if (event.exe[0] != '\0' && IsAbnormal(event, victims)) {
        NoteEnd(of, event, programs[{event.exe, event.uid}]);
      }
    }
    while (programs.size() > kPrograms) {
      programs.erase(std::ranges::min_element(
          programs, {}, [](const auto& entry) { return entry.second.last_ns[0]; }));
    }
    return programs;
  }

  static bool IsAbnormal(const telltale_filter_event& event, const std::set<uint32_t>& victims) {
    if (event.type == TELLTALE_EVENT_OOM) return true;
    if (event.type != TELLTALE_EVENT_EXIT) return false;
    return IsCrash(event.exit_signal) || IsExitOf(victims, event);
  }

  static void NoteEnd(const telltale_filter_epoch& epoch, const telltale_filter_event& event,
                      Ends& ends) {
    const uint32_t signal = IsCrash(event.exit_signal) ? event.exit_signal : 0;
    if (ends.times == 0) ends.first_ns = epoch.start_ns;
    ends.alike = ends.alike && (ends.times == 0 || signal == ends.signal);
    ends.times += std::max(1u, event.count);
    ends.signal = signal;
    if (ends.last_ns[0] != epoch.end_ns) {
      std::ranges::copy_backward(ends.last_ns.begin(), ends.last_ns.end() - 1, ends.last_ns.end());
      ends.last_ns[0] = epoch.end_ns;
      ++ends.epochs;
    }
    if (event.pid != 0) ends.pid = event.pid;
    ends.user = UserText(event.user, event.uid);
    // In the root cgroup is much that has nothing to do with each other.
    ends.cgroup = std::string_view(event.cgroup) == "/" ? "" : event.cgroup;
  }

  static Case CaseOf(const RuleEpoch& epoch, const std::pair<std::string, uint32_t>& who,
                     const Ends& ends) {
    const auto& [exe, uid] = who;
    const double seconds = static_cast<double>(epoch.epoch().end_ns - ends.first_ns) / 1e9;
    const bool killed = ends.alike && ends.signal == 0;
    Case found{{uid, storage::DigestText(exe)}, exe, {}};
    found.found.vital = "signal";
    found.by_accounts = true;
    // Of each user it is another one: they begin and end by themselves.
    found.found.subject = absl::StrCat(exe, " (", ends.user, ")");
    found.found.value = ends.times / seconds;
    found.found.deviation = 1 / seconds;
    found.found.cgroup = ends.cgroup;
    found.found.text =
        absl::StrCat(BaseOf(exe), " (", ends.user, ") ", WhatText(ends), ": ", ends.times,
                     " times in ", LastingText(seconds), HowText(ends),
                     // Equal events are told as one without a pid.
                     ends.pid == 0 ? "" : absl::StrCat(", last pid ", ends.pid),
                     ends.cgroup.empty() ? "" : absl::StrCat(", in cgroup ", ends.cgroup));
    found.found.evidence =
        absl::StrCat("it ended so in ", ends.epochs, " epochs within ", LastingText(seconds));
    found.found.against =
        killed ? "a job that may take what memory there is, and is started anew, looks the same"
               : "a test of what happens when a program crashes looks the same";
    found.found.cause = absl::StrCat("disappearance, again and again: ",
                                     killed ? "killed for want of memory" : "a crash loop");
    found.found.next = killed ? "telltale events --type oom" : "telltale events --type exit";
    found.found.facts.Figure("times", ends.times, "1")
        .Figure("within", seconds, "s")
        .FigureIf(ends.signal != 0, "signal", ends.signal, "1");
    return found;
  }

  static std::string WhatText(const Ends& ends) {
    if (!ends.alike) return "ends abnormally, is started again and does so";
    return ends.signal == 0 ? "is killed for want of memory, is started again and killed"
                            : "crashes, is started again and crashes";
  }

  static std::string HowText(const Ends& ends) {
    if (ends.signal == 0) return ends.alike ? "" : ", the last time for want of memory";
    return absl::StrCat(ends.alike ? "" : ", the last time", " by signal ", ends.signal, " (SIG",
                        sigabbrev_np(static_cast<int>(ends.signal)), ")");
  }

  void NoteUsual(const RuleEpoch& epoch, const std::set<std::string>&) override {
    programs_ = With(epoch);
  }
  void SaveUsual(StateWriter& to) const override {
    to.Map(programs_, [&](const Ends& ends) {
      to.Put(ends.first_ns);
      for (const uint64_t end_ns : ends.last_ns) to.Put(end_ns);
      to.Put(ends.times);
      to.Put(ends.epochs);
      to.Put(ends.signal);
      to.Put(static_cast<uint8_t>(ends.alike));
      to.Put(ends.pid);
      to.Text(ends.user);
      to.Text(ends.cgroup);
    });
  }
  void LoadUsual(StateReader& from) override {
    from.Map(programs_, [&](Ends& ends) {
      ends.first_ns = from.Get<uint64_t>();
      for (uint64_t& end_ns : ends.last_ns) end_ns = from.Get<uint64_t>();
      ends.times = from.Get<uint32_t>();
      ends.epochs = from.Get<uint32_t>();
      ends.signal = from.Get<uint32_t>();
      ends.alike = from.Get<uint8_t>() != 0;
      ends.pid = from.Get<uint32_t>();
      ends.user = from.Text();
      ends.cgroup = from.Text();
    });
  }

  Programs programs_;
};

}  // namespace

const telltale_filter* CrashLoopFilter() { return FilterOf<CrashLoop>(); }

}  // namespace telltale::filter
