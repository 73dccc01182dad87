// Rule 9 of Chopstix 3.2: a program that starts up against a load that grows. Both touch pages for
// the first time; a start makes little memory traffic, a growing load much. Without hardware
// counters the age of the process tells them apart: what is young starts up, what has been there
// for ten epochs does more than it used to. A start-up is told only when it takes longer than any
// this program made here within a week or two, where a job that grows until it ends counts as one;
// a growing load when first touches and CPU time are a multiple of what is usual for the process.
// Many short-lived processes of one program are told by how often they are started, of a storm at
// once.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/longest.h"
#include "collector/filter/detect/rule.h"
#include "collector/filter/detect/rules.h"
#include "storage/rollup/portable.h"

namespace telltale::filter {
namespace {

constexpr double kFaults = 1'000;   // first touches (minor faults) per second, at least
constexpr double kTimes = 4;        // what is usual
constexpr double kLessCpu = 0.1;    // CPUs more than usual, at least
constexpr uint32_t kOld = 10;       // epochs: no start any more
constexpr uint32_t kSlowStart = 5;  // epochs: longer than starts take
constexpr double kStarts = 300;  // processes per second, at least: a script that starts one after
                                 // the other reaches 200
// Processes per second that no second epoch need bear out: of such a storm the sensor may see
// little more than its beginning.
constexpr double kStorm = 3'000;
constexpr double kKept = 0.25;  // of what a start-up touches, at least
constexpr double kPageBytes = 4096;
constexpr double kTraffic = 1e5;  // cache misses per second of CPU time: much memory traffic
constexpr double kMemory = 1.0 / 32;
constexpr size_t kProcesses = 1'024, kPrograms = 512;
constexpr double kForget = 1e-3;

double Faults(const RuleEpoch& epoch, const telltale_filter_process& process) {
  return epoch.Of(process, TELLTALE_PROCESS_FAULTS_MINOR);
}

double Cpus(const RuleEpoch& epoch, const telltale_filter_process& process) {
  return epoch.Of(process, TELLTALE_PROCESS_RUN_NS) / 1e9;
}

class Load : public Rule {
 public:
  static constexpr const char* kVitals[] = {"user_page", "llc", nullptr};
  static constexpr DetectorFacts kFacts = {
      .name = "rule_load",
      .version = 10,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_PROCESSES,
      .about = "a start that takes long, a load that grows",
      .vitals = kVitals,
      .rule = 9,
      .make = Make<Load>};
  using Rule::Rule;

 private:
  // Of one process, over the epochs it had a row in.
  struct Life {
    uint32_t epochs = 0;
    bool starts = false;          // it was first seen after the node's first epoch
    uint32_t starting = 0;        // epochs from the first on with many first touches
    double faults = 0, cpus = 0;  // moving averages
    double resident = 0;          // bytes, at the end of its last epoch; below 0: not known
    uint32_t away = 0;            // epochs without a row
    std::string program;
    bool StillStarts() const { return starts && starting > 0 && starting == epochs; }
  };

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    std::vector<Case> cases;
    for (const telltale_filter_process* process : epoch.Processes()) {
      if (process->exe[0] == '\0') continue;
      std::optional<Case> found =
          process->pid == 0 ? Storm(epoch, *process) : Alone(epoch, *process);
      if (!found.has_value()) continue;
      found->program = ProgramOf(*process);
      // Those that live shortly are one case a program and user.
      found->who = process->pid != 0
                       ? Who(*process)
                       : std::pair(0U, storage::DigestText(found->program) ^ process->uid);
      found->by_accounts = true;
      Finding& told = found->found;
      told.vital = "user_page";
      told.sub = "minor";
      told.subject = ProcessText(*process);
      told.deviation = std::max(told.expected, kFaults / kTimes) / 2;
      told.next = process->pid != 0
                      ? absl::StrCat("telltale stacks --vital user_page --process ", process->pid)
                      : "telltale events --type exec";
      cases.push_back(*std::move(found));
    }
    return cases;
  }

  // Whose case it is, Look says.
  std::optional<Case> Alone(const RuleEpoch& epoch, const telltale_filter_process& process) const {
    const auto life = lives_.find(Who(process));
    if (life == lives_.end()) return std::nullopt;
    const Life& past = life->second;
    const double faults = Faults(epoch, process), cpus = Cpus(epoch, process);
    const double kept = Kept(epoch, process, past), touched = std::max(faults, kept);
    if (touched < kFaults) return std::nullopt;
    Case told;
    Finding& found = told.found;
    found.value = touched;
    found.expected = past.faults;
    if (past.starts && past.starting == past.epochs) {
      const uint32_t longest = starts_.Of(ProgramOf(process));
      const uint32_t now = past.starting + 1;
      if (now < kSlowStart || now <= longest) return std::nullopt;
      if (kept < kKept * touched) return std::nullopt;
      found.expected = 0;
      found.text = absl::StrCat(ProcessText(process), " still starts up after ", now, " epochs");
      found.evidence = absl::StrCat(
          absl::StrFormat("%.0f pages/s touched for the first time, %.0f kept, %.3g CPUs", touched,
                          kept, cpus),
          longest == 0
              ? "; no other start of it was seen"
              : absl::StrFormat("; its longest start took %d epochs", static_cast<int>(longest)));
      found.against = "a program that goes through ever new memory looks the same";
      found.cause = "slow start";
      found.facts.Figure("starting", now, "epochs")
          .Figure("touched", touched, "pages/s")
          .Figure("kept", kept, "pages/s")
          .FigureIf(longest > 0, "longest_start", longest, "epochs");
      return told;
    }
    if (past.epochs < kOld || faults < std::max(kFaults, kTimes * past.faults)) return std::nullopt;
    if (cpus < past.cpus + std::max(kLessCpu, past.cpus / 2)) return std::nullopt;
    const auto traffic = Traffic(epoch, process, cpus);
    if (traffic.has_value() && *traffic < kTraffic) return std::nullopt;  // it sets things up anew
    found.text = absl::StrCat(
        ProcessText(process),
        absl::StrFormat(" has more to do: it touches %.0f pages a second for the first time, "
                        "usually %.0f, and takes %.3g CPUs, usually %.3g",
                        faults, past.faults, cpus, past.cpus));
    found.evidence = absl::StrCat(
        "there for ", past.epochs, " epochs",
        traffic.has_value() ? absl::StrFormat(", %.3g cache misses per second of CPU", *traffic)
                            : std::string());
    found.against = absl::StrCat(
        past.resident < 0
            ? ""
            : absl::StrFormat("it kept %.0f %% of these pages; ", 100 * kept / touched),
        traffic.has_value()
            ? "a job of its own, as a new table or a cache that warms up, keeps most"
            : "without hardware counters a program that sets itself up anew looks the same, but "
              "keeps most");
    found.cause = "growing load";
    found.facts.Figure("touched", faults, "pages/s")
        .Figure("touched_usual", past.faults, "pages/s")
        .Figure("cpus", cpus, "CPUs")
        .Figure("cpus_usual", past.cpus, "CPUs");
    if (traffic.has_value()) told.besides.push_back("llc");
    return told;
  }

  // Pages per second by which it grew.
  static double Kept(const RuleEpoch& epoch, const telltale_filter_process& process,
                     const Life& past) {
    if (past.resident < 0) return 0;
    return std::max(0.0, Resident(epoch, process) - past.resident) / kPageBytes / epoch.seconds();
  }

  std::optional<Case> Storm(const RuleEpoch& epoch,
                            const telltale_filter_process& processes) const {
    const double started = processes.instances / epoch.seconds();
    const auto program = programs_.find(ProgramOf(processes));
    const double usual = program == programs_.end() ? 0 : program->second;
    if (started < kStarts || started < kTimes * usual) return std::nullopt;
    Case told;
    Finding& found = told.found;
    found.value = Faults(epoch, processes);
    found.text = absl::StrCat(
        BaseOf(processes.exe),
        absl::StrFormat(" is started %.3g times a second, usually %.3g", started, usual));
    found.evidence =
        absl::StrFormat("%d short-lived processes, %.3g CPUs, %.0f pages/s",
                        static_cast<int>(processes.instances), Cpus(epoch, processes), found.value);
    found.against = absl::StrFormat(
        "each took %.3g ms of CPU time: a build or a script that is meant to does the same",
        1e3 * Cpus(epoch, processes) / started);
    found.cause = "growing load: many short-lived processes";
    told.at_once = started >= kStorm;
    found.facts.Figure("started", started, "1/s")
        .Figure("started_usual", usual, "1/s")
        .Figure("cpus", Cpus(epoch, processes), "CPUs");
    return told;
  }

  // How much of the epoch it was there, as far as is known: few begin with one.
  static double There(const RuleEpoch& epoch, const telltale_filter_process& process) {
    const double threads = epoch.Of(process, TELLTALE_PROCESS_TASK_NS) / 1e9;
    return threads > 0 ? std::min(threads, 1.0) : 1;
  }

  static std::optional<double> Traffic(const RuleEpoch& epoch,
                                       const telltale_filter_process& process, double cpus) {
    if (epoch.Vital("llc") == nullptr || cpus <= 0) return std::nullopt;
    return epoch.Of(process, "llc", "misses", true) / cpus;
  }

  // Who is there behind a hole did not just start, and grew in nobody knows what time.
  void PassHole(double) override {
    first_ = true;
    for (auto& [who, life] : lives_) {
      life.starts = false;
      life.resident = -1;
    }
  }

  void NoteUsual(const RuleEpoch& epoch, const std::set<std::string>& held) override {
    starts_.Pass(epoch.epoch().end_ns);
    for (auto& [who, life] : lives_) ++life.away;
    std::map<std::string, double> started;
    for (const telltale_filter_process* process : epoch.Processes()) {
      if (process->exe[0] == '\0') continue;
      if (process->pid == 0) {
        started[ProgramOf(*process)] += process->instances / epoch.seconds();
        continue;
      }
      NoteLife(epoch, *process, held);
    }
    first_ = false;
    std::erase_if(lives_, [this](const auto& entry) {
      const Life& life = entry.second;
      if (life.away <= 2) return false;
      if (life.StillStarts()) NoteStart(life);
      return true;
    });
    for (const auto& [name, rate] : started) {
      if (programs_.size() >= kPrograms && !programs_.contains(name)) continue;
      const auto [program, fresh] = programs_.try_emplace(name);
      if (fresh && !held.contains(name)) program->second = rate;
    }
    for (auto& [name, usual] : programs_) {
      if (held.contains(name)) continue;
      const auto rate = started.find(name);
      usual += kMemory * ((rate == started.end() ? 0 : rate->second) - usual);
    }
    std::erase_if(programs_, [](const auto& entry) { return entry.second < kForget; });
  }

  void NoteLife(const RuleEpoch& epoch, const telltale_filter_process& process,
                const std::set<std::string>& held) {
    const auto who = Who(process);
    if (lives_.size() >= kProcesses && !lives_.contains(who)) return;
    const auto [at, fresh] = lives_.try_emplace(who);
    Life& life = at->second;
    life.away = 0;
    if (fresh) life.starts = !first_;
    const double faults = Faults(epoch, process), cpus = Cpus(epoch, process);
    const double touched = std::max(faults, Kept(epoch, process, life));
    const double there = fresh ? There(epoch, process) : 1;
    const bool starting = life.starting == life.epochs && touched >= kFaults * there;
    if (fresh) life.program = ProgramOf(process);
    if (!starting && life.StillStarts()) NoteStart(life);
    ++life.epochs;
    life.resident = Resident(epoch, process);
    if (starting) ++life.starting;
    if (held.contains(ProgramOf(process))) return;
    const double weight = std::max(kMemory, 1.0 / life.epochs);
    life.faults += weight * (faults - life.faults);
    life.cpus += weight * (cpus - life.cpus);
  }

  // It is over.
  void NoteStart(const Life& life) { starts_.Note(life.program, life.starting); }

  void SaveUsual(StateWriter& to) const override {
    to.Put(static_cast<uint8_t>(first_));
    to.Map(lives_, [&](const Life& life) {
      to.Put(life.epochs);
      to.Put(static_cast<uint8_t>(life.starts));
      to.Put(life.starting);
      to.Put(life.faults);
      to.Put(life.cpus);
      to.Put(life.resident);
      to.Put(life.away);
      to.Text(life.program);
    });
    to.Map(programs_, [&](double started) { to.Put(started); });
    starts_.Save(to);
  }
  void LoadUsual(StateReader& from) override {
    first_ = from.Get<uint8_t>() != 0;
    from.Map(lives_, [&](Life& life) {
      life.epochs = from.Get<uint32_t>();
      life.starts = from.Get<uint8_t>() != 0;
      life.starting = from.Get<uint32_t>();
      life.faults = from.Get<double>();
      life.cpus = from.Get<double>();
      life.resident = from.Get<double>();
      life.away = from.Get<uint32_t>();
      life.program = from.Text();
    });
    from.Map(programs_, [&](double& started) { started = from.Get<double>(); });
    starts_.Load(from);
  }

  bool first_ = true;  // no epoch was seen yet: who is there did not just start
  std::map<std::pair<uint32_t, uint64_t>, Life> lives_;  // by pid and start
  // Short-lived processes per second, moving average, by program.
  std::map<std::string, double> programs_;
  Longest starts_;
};

}  // namespace

const telltale_filter* LoadFilter() { return FilterOf<Load>(); }

}  // namespace telltale::filter
