// Rule 8 of Chopstix 3.2: call after call fails, without a pause; the program does not look at what
// it is told. Either the failing calls are much of all it does, or it never stops running and one
// call fails each time round, whatever else the round has: a shell that goes round a failing `kill`
// writes a message and moves descriptors about for each. Some calls say no by failing: readlink of
// what is no link, as compilers ask for each part of each path. Of those a program does something
// with the answer, unless it does nothing else at all. What a row leaves out of the calls that
// succeed, on a node that makes very many, counts as if it had made them.

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/rule.h"
#include "collector/filter/detect/rules.h"

namespace telltale::filter {
namespace {

class FailingCall : public Rule {
 public:
  static constexpr const char* kVitals[] = {"syscall", nullptr};
  static constexpr DetectorFacts kFacts = {.name = "rule_failing_call",
                                           .version = 9,
                                           .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_LABELS |
                                                    TELLTALE_NEEDS_SAMPLES |
                                                    TELLTALE_NEEDS_PROCESSES,
                                           .about = "a busy loop around a call that fails",
                                           .vitals = kVitals,
                                           .rule = 8,
                                           .make = Make<FailingCall>};
  using Rule::Rule;

 private:
  static constexpr double kFailed = 1'000;             // calls per second of CPU time
  static constexpr double kWants = 0.3, kGets = 0.02;  // CPUs
  static constexpr double kShare = 0.4;                // of all its calls; or:
  static constexpr double kShareOfRound = 0.075;       // one call each time round,
  static constexpr double kAlways = 0.8;               // CPUs it wants: it never pauses,
  static constexpr double kOneCall = 0.5;              // of its failed calls, for certain
  // Failures that are answers: programs that work ask until there is something, or search paths.
  static constexpr uint64_t kAnswers[] = {EAGAIN, EINTR, EINPROGRESS, ENOENT, EEXIST, ETIMEDOUT};

  // And questions whose failure is a plain no.
  struct Question {
    std::string_view call;
    uint64_t no;
  };
  static constexpr Question kQuestions[] = {{"readlink", EINVAL},      {"readlinkat", EINVAL},
                                            {"lseek", ESPIPE},         {"ioctl", ENOTTY},
                                            {"getxattr", ENODATA},     {"lgetxattr", ENODATA},
                                            {"fgetxattr", ENODATA},    {"getxattr", EOPNOTSUPP},
                                            {"lgetxattr", EOPNOTSUPP}, {"fgetxattr", EOPNOTSUPP}};
  static constexpr double kNothingElse = 0.9;  // of all its calls

  // What fails; 0, 0: not among the samples.
  struct Call {
    uint64_t number_plus_1 = 0, error = 0;
    double low = 0;  // calls per second, for certain
  };

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    std::vector<Case> cases;
    for (const telltale_filter_process* process : epoch.Processes()) {
      if (process->pid == 0 || process->exe[0] == '\0') continue;
      const double failed = epoch.Of(*process, "syscall", "failed", false);
      const CallRate calls = Calls(epoch, *process);
      const double cpus = epoch.Of(*process, TELLTALE_PROCESS_RUN_NS) / 1e9;
      const double wants = cpus + epoch.Of(*process, TELLTALE_PROCESS_QUEUE_NS) / 1e9;
      if (wants < kWants || cpus < kGets || failed < kFailed * cpus) continue;
      const Call call = Heaviest(epoch, *process);
      if (IsQuestion(call)
              ? failed < kNothingElse * calls.most
              : failed < kShare * calls.most && !IsRound(call, wants, failed, calls.most)) {
        continue;
      }
      cases.push_back(CaseOf(epoch, *process, call, failed, calls, cpus));
    }
    return cases;
  }

  bool IsQuestion(const Call& call) const {
    if (call.number_plus_1 == 0) return false;
    const std::string name = CallText(host().machine, call.number_plus_1 - 1);
    return std::ranges::any_of(kQuestions, [&](const Question& question) {
      return question.call == name && question.no == call.error;
    });
  }

  static bool IsRound(const Call& call, double wants, double failed, double calls) {
    if (wants < kAlways || failed < kShareOfRound * calls || call.number_plus_1 == 0) return false;
    if (call.error == 0 || call.low < kOneCall * failed) return false;
    return std::ranges::count(kAnswers, call.error) == 0;
  }

  Case CaseOf(const RuleEpoch& epoch, const telltale_filter_process& process, const Call& call,
              double failed, const CallRate& calls, double cpus) const {
    const std::string text = ProcessText(process);
    std::string name, error, what;
    if (call.number_plus_1 != 0) {
      name = CallText(host().machine, call.number_plus_1 - 1);
      error = call.error == 0 ? "" : ErrorText(call.error);
      what = absl::StrCat(" (", name, error.empty() ? "" : ", ", error, ")");
    }
    Case found{Who(process), ProgramOf(process), {}};
    found.found.vital = "syscall";
    found.found.sub = "failed";
    found.found.subject = text;
    found.found.value = failed;
    found.found.deviation = kFailed / 6;
    found.found.text =
        absl::StrCat(text, " goes round a call that fails", what, ": ",
                     absl::StrFormat("%.3g times a second, %.3g CPUs", failed, cpus));
    found.found.evidence =
        absl::StrCat(calls.most > calls.told ? "at least " : "", PercentText(failed / calls.most),
                     " of its ", AtMostText(calls.told, calls.most), " calls/s failed");
    found.found.against = absl::StrCat(AnswersText(epoch, process, call),
                                       "a program that polls without waiting does it on purpose");
    found.found.cause = "busy loop around a failing call";
    found.found.next =
        absl::StrCat("telltale stacks --vital syscall/failed --process ", process.pid);
    found.found.facts.Name("call", name)
        .Name("error", error)
        .Figure("failed", failed, "1/s")
        .FigureIf(calls.most <= calls.told, "calls", calls.told, "1/s")
        .Figure("ran", cpus * epoch.seconds(), "s");
    return found;
  }

  // What it may be after: calls that succeed, and failures that say something.
  static std::string AnswersText(const RuleEpoch& epoch, const telltale_filter_process& process,
                                 const Call& call) {
    const double told = epoch.Of(process, "syscall", "ok", false);
    const double most = epoch.AtMost(process, "syscall", "ok", false);
    std::string text;
    if (most > 0) absl::StrAppend(&text, AtMostText(told, most), " calls/s succeed; ");
    if (call.error != 0 && std::ranges::count(kAnswers, call.error) > 0) {
      absl::StrAppend(&text, ErrorText(call.error), " may be an answer; ");
    }
    return text;
  }

  static Call Heaviest(const RuleEpoch& epoch, const telltale_filter_process& process) {
    const telltale_filter_vital* vital = epoch.Vital("syscall");
    const int sub = vital == nullptr ? -1 : RuleEpoch::SubOf(*vital, "failed");
    for (const telltale_filter_label* label : epoch.Labels("syscall")) {
      const telltale_filter_sample* sample = label->exemplar;
      if (static_cast<int>(label->sub) != sub || label->values == 0 || label->value[0] == 0)
        continue;
      if (sample == nullptr || sample->pid != process.pid) continue;
      Call call;
      call.number_plus_1 = label->value[0];
      // The result is zigzag: -11 is 21.
      if (sample->details > 1 && sample->detail[1] % 2 == 1) {
        call.error = (sample->detail[1] + 1) / 2;
      }
      call.low = static_cast<double>(label->low) / epoch.seconds();
      return call;
    }
    return {};
  }
};

}  // namespace

const telltale_filter* FailingCallFilter() { return FilterOf<FailingCall>(); }

}  // namespace telltale::filter
