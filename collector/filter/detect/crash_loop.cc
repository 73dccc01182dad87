// Rule 10 of Chopstix 3.2, of what comes back: a program that ends by a signal of its own making
// (SIGABRT, SIGSEGV ...) in one epoch after the other, because something starts it again. Who, how
// and how often. `vanished` speaks of what stays away.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/rule.h"
#include "collector/filter/detect/rules.h"
#include "storage/rollup/portable.h"

namespace telltale::filter {
namespace {

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
      .version = 5,
      .needs = TELLTALE_NEEDS_PROCESSES | TELLTALE_NEEDS_EVENTS,
      .about = "a program that crashes, is started again and crashes",
      .rule = 10,
      .make = Make<CrashLoop>};
  using Rule::Rule;

 private:
  struct Crashes {
    uint32_t count = 0, last_pid = 0, signal = 0;
    std::string user;
  };

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    const telltale_filter_epoch& of = epoch.epoch();
    std::map<std::pair<std::string, uint32_t>, Crashes> crashes;  // by program and user
    for (uint32_t i = 0; i < of.event_count; ++i) {
      const auto& event = *TELLTALE_FILTER_AT(telltale_filter_event, of.events, i);
      if (event.type != TELLTALE_EVENT_EXIT || event.exe[0] == '\0') continue;
      if (!IsCrash(event.exit_signal)) continue;
      Crashes& of_program = crashes[{event.exe, event.uid}];
      of_program.count += std::max(1u, event.count);
      if (event.pid != 0) of_program.last_pid = event.pid;
      of_program.signal = event.exit_signal;
      of_program.user = UserText(event.user, event.uid);
    }
    std::vector<Case> cases;
    for (const auto& [who, seen] : crashes) cases.push_back(CaseOf(epoch, who, seen));
    return cases;
  }

  static Case CaseOf(const RuleEpoch& epoch, const std::pair<std::string, uint32_t>& who,
                     const Crashes& crashes) {
    const auto& [exe, uid] = who;
    const char* signal = sigabbrev_np(static_cast<int>(crashes.signal));
    Case found{{uid, storage::DigestText(exe)}, exe, {}};
    found.found.vital = "signal";
    found.by_accounts = true;
    // Of each user it is another one: they begin and end by themselves.
    found.found.subject = absl::StrCat(exe, " (", crashes.user, ")");
    found.found.value = crashes.count / epoch.seconds();
    found.found.deviation = 1 / epoch.seconds();
    found.found.text =
        absl::StrCat(BaseOf(exe), " (", crashes.user, ") crashes, is started again and crashes: ",
                     absl::StrFormat("%u times in %.0f s", crashes.count, epoch.seconds()),
                     " by signal ", crashes.signal, " (SIG", signal, ")",
                     // Equal events are told as one without a pid.
                     crashes.last_pid == 0 ? "" : absl::StrCat(", last pid ", crashes.last_pid));
    found.found.evidence = "it ended by a signal of its own making in two epochs running";
    found.found.against = "a test of what happens when a program crashes looks the same";
    found.found.cause = "disappearance, again and again: a crash loop";
    found.found.next = "telltale events --type exit";
    return found;
  }
};

}  // namespace

const telltale_filter* CrashLoopFilter() { return FilterOf<CrashLoop>(); }

}  // namespace telltale::filter
