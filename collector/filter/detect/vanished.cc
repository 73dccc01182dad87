// A program that was always there and is gone: its processes ran in 57 of the last 60 epochs, for a
// thousandth of a CPU at least, and in the last three no process of it has a row. How it ended is
// taken from the exits seen since it ran last. Where its one process, which had been there for half
// of that time and ran for a hundredth of a CPU, was seen to end and nothing took its place, the
// first epoch without it is enough. An epoch has rows for few processes, and in a storm of short
// ones even a program that does much may have none: where those without a row ran for so much
// longer than usual that it may be among them, and it was not seen to end, the epoch does not
// count. Rule 10 of Chopstix 3.2: who, how and where.

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "collector/filter/detect/detector.h"
#include "collector/filter/detect/detectors.h"
#include "collector/filter/detect/rates.h"
#include "collector/filter/detect/victims.h"

namespace telltale::filter {
namespace {

constexpr int kWindow = 60;           // epochs
constexpr int kPresent = 57;          // of them
constexpr int kAbsent = 3;            // epochs at the end
constexpr double kLeastRun = 1e-3;    // CPUs; less may lose its row to other programs
constexpr double kSurelySeen = 1e-2;  // CPUs
constexpr uint32_t kStayed = 30;      // epochs
constexpr size_t kPrograms = 1'024;
constexpr double kMemory = 1.0 / 32;
constexpr double kMayHide = 0.5;  // of what it runs: under such a load it runs less

class Vanished : public Detector {
 public:
  static constexpr DetectorFacts kFacts = {
      .name = "vanished",
      .version = 6,
      .needs = TELLTALE_NEEDS_PROCESSES | TELLTALE_NEEDS_EVENTS,
      .about = "a program that was always there and is gone",
      .history_epochs = kWindow,
      .rule = 10,
      .make = Make<Vanished>};

  explicit Vanished(const telltale_filter_host& host) : Detector(host) {}

  void Epoch(const telltale_filter_epoch& epoch) override {
    const auto column = ColumnOf(epoch, TELLTALE_PROCESS_RUN_NS);
    if (!IsUsual(epoch) || !column.has_value()) return;
    ++epochs_;
    std::map<std::string, Rows> run;
    for (uint32_t i = 0; i < epoch.process_count; ++i) {
      const auto& process = *TELLTALE_FILTER_AT(telltale_filter_process, epoch.processes, i);
      // The kernel's own threads come and go as it pleases.
      if (process.exe[0] == '\0') continue;
      Rows& rows = run[process.exe];
      rows.run_ns += static_cast<double>(process.value[*column]);
      rows.processes += process.instances;
      rows.last = {process.pid, process.start_ns};
    }
    const double more = MoreUnlisted(epoch, *column);
    for (auto& [exe, track] : tracks_) {
      const bool hidden = !run.contains(exe) && !track.ended && track.cpus >= kLeastRun &&
                          more >= kMayHide * track.cpus;
      if (!hidden) track.seen <<= 1;
    }
    for (const auto& [exe, rows] : run) {
      if (tracks_.size() >= kPrograms && !tracks_.contains(exe)) continue;
      Track& track = tracks_[exe];
      const double cpus = rows.run_ns / static_cast<double>(epoch.watched_ns);
      track.cpus += (track.seen == 0 ? 1 : kMemory) * (cpus - track.cpus);
      track.seen |= 1;
      if (track.told_start_ns != 0) Return(exe, track, epoch);
      track.last_end_ns = epoch.end_ns;
      track.how.clear();
      track.cgroup.clear();
      track.ended = false;
      // A row of short-lived ones has no process.
      const bool one = rows.processes == 1 && rows.last.first != 0;
      track.stayed = one && rows.last == track.only ? track.stayed + 1 : one ? 1 : 0;
      track.only = rows.last;
    }
    NoteExits(epoch);
    for (auto& [exe, track] : tracks_) Judge(exe, track, epoch);
    std::erase_if(tracks_, [](const auto& entry) {
      return (entry.second.seen & kMask) == 0 && entry.second.told_start_ns == 0;
    });
  }

  void Save(StateWriter& to) const override {
    to.Put(epochs_);
    to.Put(unlisted_);
    to.Put(static_cast<uint32_t>(tracks_.size()));
    for (const auto& [exe, track] : tracks_) {
      to.Text(exe);
      to.Put(track.seen);
      to.Put(track.cpus);
      to.Put(track.last_end_ns);
      to.Put(track.told_start_ns);
      to.Text(track.how);
      to.Text(track.cgroup);
      to.Put(track.away);
      to.Put(track.only.first);
      to.Put(track.only.second);
      to.Put(track.stayed);
      to.Put(static_cast<uint8_t>(track.ended));
    }
  }
  bool Load(StateReader& from) override {
    epochs_ = from.Get<uint64_t>();
    unlisted_ = from.Get<double>();
    for (auto n = from.Get<uint32_t>(); n > 0 && from.ok(); --n) {
      Track& track = tracks_[from.Text()];
      track.seen = from.Get<uint64_t>();
      track.cpus = from.Get<double>();
      track.last_end_ns = from.Get<uint64_t>();
      track.told_start_ns = from.Get<uint64_t>();
      track.how = from.Text();
      track.cgroup = from.Text();
      track.away = from.Get<uint32_t>();
      track.only.first = from.Get<uint32_t>();
      track.only.second = from.Get<uint64_t>();
      track.stayed = from.Get<uint32_t>();
      track.ended = from.Get<uint8_t>() != 0;
    }
    return from.ok();
  }
  Learned HowFar() const override { return {epochs_, kWindow}; }

 private:
  static constexpr uint64_t kWhole = (uint64_t{1} << kWindow) - 1;
  static constexpr uint64_t kMask = (uint64_t{1} << (kWindow + kAbsent)) - 1;
  static constexpr uint32_t kGoneForGood = 1'440;  // epochs; then it is no longer waited for

  struct Track {
    uint64_t seen = 0;  // bit i: had a row i epochs ago, of those that count
    double cpus = 0;    // moving average of the epochs it was there
    uint64_t last_end_ns = 0;
    uint64_t told_start_ns = 0;          // 0: not told of
    std::string how;                     // it ended, by the exits since it was there last
    std::string cgroup;                  // of that exit; "": not known, or the root's
    uint32_t away = 0;                   // epochs since it was told of
    std::pair<uint32_t, uint64_t> only;  // pid and start of its one process, when it ran last
    uint32_t stayed = 0;                 // epochs in a row that one was alone
    bool ended = false;                  // that one, after it had stayed
  };
  // Of one program in one epoch.
  struct Rows {
    double run_ns = 0;
    uint64_t processes = 0;
    std::pair<uint32_t, uint64_t> last;
  };

  // CPUs that processes without a row took above what they usually do.
  double MoreUnlisted(const telltale_filter_epoch& epoch, uint32_t column) {
    if (epoch.other_value == nullptr) return 0;
    const double cpus =
        static_cast<double>(epoch.other_value[column]) / static_cast<double>(epoch.watched_ns);
    if (epochs_ == 1) unlisted_ = cpus;
    const double more = cpus - unlisted_;
    unlisted_ += kMemory * more;
    return more;
  }

  // In the root cgroup is much that has nothing to do with each other.
  static std::string CgroupOf(const telltale_filter_event& event) {
    const std::string_view cgroup = event.cgroup;
    return cgroup == "/" ? "" : std::string(cgroup);
  }

  void NoteExits(const telltale_filter_epoch& epoch) {
    const std::set<uint32_t> victims = NamelessVictims(epoch);
    for (uint32_t i = 0; i < epoch.event_count; ++i) {
      const auto& event = *TELLTALE_FILTER_AT(telltale_filter_event, epoch.events, i);
      if (event.type != TELLTALE_EVENT_EXIT && event.type != TELLTALE_EVENT_OOM) continue;
      const auto track = tracks_.find(event.exe);
      if (track == tracks_.end()) continue;
      if (event.pid == track->second.only.first && track->second.stayed >= kStayed) {
        track->second.ended = true;
      }
      // Equal exits are told as one, without a process.
      const std::string who = absl::StrCat(
          event.pid != 0 ? absl::StrCat("pid ", event.pid)
                         : absl::StrCat(event.count, event.count == 1 ? " process" : " processes"),
          " (", UserText(event.user, event.uid), ") ");
      if (event.type == TELLTALE_EVENT_OOM || IsExitOf(victims, event)) {
        track->second.how = absl::StrCat(who, "was killed for want of memory");
        track->second.cgroup = CgroupOf(event);
      } else if (track->second.how.find("want of memory") == std::string::npos) {
        track->second.how = absl::StrCat(
            who, event.exit_signal != 0 ? absl::StrCat("ended by signal ", event.exit_signal)
                                        : absl::StrCat("exited with code ", event.exit_code));
        track->second.cgroup = CgroupOf(event);
      }
    }
  }

  void Judge(const std::string& exe, Track& track, const telltale_filter_epoch& epoch) const {
    if (track.told_start_ns != 0) {
      if (++track.away >= kGoneForGood) {
        Tell(exe, track, epoch.end_ns, false);
        track.told_start_ns = 0;
        track.seen = 0;
      }
      return;
    }
    const bool sure = track.ended && track.cpus >= kSurelySeen;
    const int absent = sure ? 1 : kAbsent;
    if (std::countr_zero(track.seen) < absent || track.cpus < kLeastRun) return;
    if (std::popcount((track.seen >> absent) & kWhole) < kPresent) return;
    track.told_start_ns = track.last_end_ns;
    track.away = 0;
    Tell(exe, track, epoch.end_ns, true);
  }

  void Return(const std::string& exe, Track& track, const telltale_filter_epoch& epoch) const {
    Tell(exe, track, epoch.start_ns, false);
    track.told_start_ns = 0;
    track.seen = 1;
  }

  void Tell(const std::string& exe, const Track& track, uint64_t end_ns, bool open) const {
    Finding found;
    found.vital = "cpu";
    found.subject = exe;
    found.start_ns = track.told_start_ns;
    found.end_ns = end_ns;
    found.open = open;
    found.expected = track.cpus;
    found.deviation = std::max(track.cpus / 6, kLeastRun);
    found.learned_epochs = kWindow;
    found.text = absl::StrCat(
        exe, " is gone: ", track.how.empty() ? "no process of it ran any more" : track.how,
        track.cgroup.empty() ? "" : absl::StrCat(", in cgroup ", track.cgroup));
    found.cgroup = track.cgroup;
    found.evidence = absl::StrCat("it ran in ", kPresent, " or more of the ", kWindow,
                                  " epochs before, at ", RateText(track.cpus, "ns"));
    found.against = track.how.empty() ? "no exit of it was seen: it may be there and do nothing"
                                      : "it may have been stopped on purpose";
    found.cause = "disappearance";
    found.next = "telltale events";
    found.facts.Name("end", track.how).Figure("cpus_usual", track.cpus, "CPUs");
    Emit(found);
  }

  uint64_t epochs_ = 0;
  double unlisted_ = 0;                  // CPUs of processes without a row, moving average
  std::map<std::string, Track> tracks_;  // by executable
};

}  // namespace

const telltale_filter* VanishedFilter() { return FilterOf<Vanished>(); }

}  // namespace telltale::filter
