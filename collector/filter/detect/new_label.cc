// Something that was never seen here takes a good part of a vital: a label, told by its stable id
// (executable, files and operation, so that a restart or an upgrade is nothing new), that no epoch
// of the last week had and that has at least a tenth of its vital's weight in two of its first
// three epochs: what begins late in an epoch is light there. Of a program's labels that are new
// together the first is told, which is the heaviest. For 30 epochs after an executable had another
// build, what is new under it counts half.
//
// Several builds of one path may run beside each other: those of two images, or what was started
// before an upgrade. A deploy is a build that the path did not have of late; one that was replaced
// more than a week ago and comes back is one, too.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "collector/filter/detect/detector.h"
#include "collector/filter/detect/detectors.h"
#include "collector/filter/detect/rates.h"

namespace telltale::filter {
namespace {

constexpr uint64_t kLearn = 1'440;  // epochs, and as many minutes: nightly jobs are known then
constexpr uint64_t kMinuteNs = 60'000'000'000;
constexpr uint32_t kForgetHours = 7 * 24;
constexpr size_t kKnown = 4'096;  // labels of a node; the longest unseen go first
// Of executables' paths whose build is known. A node that builds and tests runs ever new ones, and
// a state may have half a megabyte.
constexpr size_t kBuildBytes = 256 << 10;
constexpr size_t kBuilds = 16;      // of a path
constexpr double kShare = 0.1;      // of the vital, by the label's lower bound
constexpr uint64_t kRecent = 3;     // epochs in which it must be heavy twice
constexpr size_t kFresh = 2'048;    // labels that are followed so; what comes beside them is known
constexpr uint64_t kDeployed = 30;  // epochs
constexpr uint64_t kHourNs = 3'600'000'000'000;

class NewLabel : public Detector {
 public:
  static constexpr DetectorFacts kFacts = {
      .name = "new_label",
      .version = 4,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_LABELS,
      .about = "what was never seen on the node and takes a good part of a vital",
      .history_epochs = kLearn,
      .make = Make<NewLabel>};

  explicit NewLabel(const telltale_filter_host& host) : Detector(host) {}

  void Option(const std::string& name, double value) override {
    if (name != "new_label_learn") return;
    learn_ = static_cast<uint64_t>(std::max(0.0, value));
    by_time_ = false;
  }

  void Epoch(const telltale_filter_epoch& epoch) override {
    if (!IsUsual(epoch)) return;
    ++epochs_;
    if (epochs_ == 1) first_ns_ = epoch.start_ns;
    last_ns_ = epoch.end_ns;
    hour_ = static_cast<uint32_t>(epoch.end_ns / kHourNs);
    for (uint32_t v = 0; v < epoch.vital_count; ++v) {
      const auto& vital = *TELLTALE_FILTER_AT(telltale_filter_vital, epoch.vitals, v);
      if (vital.id <= 255 && vital.watched_ns > 0) Look(epoch, vital);
    }
    LearnFresh();
    std::erase_if(told_, [&](const auto& entry) { return entry.second + kRecent <= epochs_; });
    std::erase_if(deploys_, [&](const auto& entry) { return entry.second + kDeployed <= epochs_; });
    Forget();
    ForgetBuilds(epoch);
  }

  void Save(StateWriter& to) const override {
    to.Put(epochs_);
    to.Put(first_ns_);
    to.Put(last_ns_);
    to.Put(hour_);
    to.Put(static_cast<uint32_t>(known_.size()));
    for (const auto& [id, hour] : known_) {
      to.Put(id);
      to.Put(hour);
    }
    to.Put(static_cast<uint32_t>(fresh_.size()));
    for (const auto& [id, fresh] : fresh_) {
      to.Put(id);
      to.Put(fresh.first);
      to.Put(fresh.last);
      to.Put(fresh.heavy);
      to.Put(fresh.start_ns);
    }
    to.Map(told_, [&](uint64_t epoch) { to.Put(epoch); });
    to.Put(static_cast<uint32_t>(builds_.size()));
    for (const auto& [exe, builds] : builds_) {
      to.Text(exe);
      to.Map(builds, [&](uint32_t hour) { to.Put(hour); });
    }
    to.Put(static_cast<uint32_t>(deploys_.size()));
    for (const auto& [exe, epoch] : deploys_) {
      to.Text(exe);
      to.Put(epoch);
    }
  }
  bool Load(StateReader& from) override {
    epochs_ = from.Get<uint64_t>();
    first_ns_ = from.Get<uint64_t>();
    last_ns_ = from.Get<uint64_t>();
    hour_ = from.Get<uint32_t>();
    for (auto n = from.Get<uint32_t>(); n > 0 && from.ok(); --n) {
      const auto id = from.Get<uint64_t>();
      known_.emplace_hint(known_.end(), id, from.Get<uint32_t>());
    }
    for (auto n = from.Get<uint32_t>(); n > 0 && from.ok(); --n) {
      Fresh& fresh = fresh_[from.Get<uint64_t>()];
      fresh.first = from.Get<uint64_t>();
      fresh.last = from.Get<uint64_t>();
      fresh.heavy = from.Get<uint64_t>();
      fresh.start_ns = from.Get<uint64_t>();
    }
    from.Map(told_, [&](uint64_t& epoch) { epoch = from.Get<uint64_t>(); });
    for (auto n = from.Get<uint32_t>(); n > 0 && from.ok(); --n) {
      from.Map(builds_[from.Text()], [&](uint32_t& hour) { hour = from.Get<uint32_t>(); });
    }
    for (auto n = from.Get<uint32_t>(); n > 0 && from.ok(); --n) {
      const std::string exe = from.Text();
      deploys_[exe] = from.Get<uint64_t>();
    }
    return from.ok();
  }
  Learned HowFar() const override {
    if (!by_time_) return {.of = epochs_, .needed = learn_, .no_room = no_room_};
    return {.of = std::min(epochs_, (last_ns_ - first_ns_) / kMinuteNs),
            .needed = learn_,
            .unit = "minutes",
            .no_room = no_room_};
  }

 private:
  // Epochs counted as epochs_ does.
  struct Fresh {
    uint64_t first = 0, last = 0;  // seen
    uint64_t heavy = 0;            // the one in which it was heavy; 0: none
    uint64_t start_ns = 0;         // of that one
  };

  using Builds = std::map<uint64_t, uint32_t>;  // hour it ran last, by build
  static constexpr size_t kBuildRoom = 12;      // bytes of one when saved

  // The labels of one vital are other labels than those of another.
  static uint64_t IdOf(const telltale_filter_vital& vital, const telltale_filter_label& label) {
    return label.stable_id ^ (uint64_t{vital.id} << 56);
  }

  // However short epochs are, a day must have passed.
  bool Learns(const telltale_filter_epoch& epoch) const {
    return epochs_ <= learn_ || (by_time_ && epoch.start_ns < first_ns_ + learn_ * kMinuteNs);
  }

  void Look(const telltale_filter_epoch& epoch, const telltale_filter_vital& vital) {
    const std::vector<double> wholes = WholesOf(vital);
    for (uint32_t i = 0; i < vital.label_count; ++i) {
      const auto& label = *TELLTALE_FILTER_AT(telltale_filter_label, vital.labels, i);
      NoteBuild(epoch, label);
      const uint64_t id = IdOf(vital, label);
      const auto known = known_.find(id);
      if (known != known_.end()) {
        known->second = hour_;
        continue;
      }
      const bool idle = label.sub < vital.sub_count &&
                        TELLTALE_FILTER_AT(telltale_filter_sub, vital.subs, label.sub)->idle != 0;
      const double unit = std::string_view(vital.unit) == "ns" ? 1e9 : 1;
      const double rate =
          static_cast<double>(label.low) / unit / (static_cast<double>(vital.watched_ns) / 1e9);
      const double share = ShareOf(label, wholes);
      const bool heavy = share >= kShare && rate >= 4 * FloorOf(vital.unit);
      const bool full = fresh_.size() >= kFresh && !fresh_.contains(id);
      if (Learns(epoch) || idle || full) {
        no_room_ += full && !idle && !Learns(epoch) ? 1 : 0;
        known_[id] = hour_;
        continue;
      }
      Fresh& fresh = fresh_.try_emplace(id, Fresh{.first = epochs_}).first->second;
      fresh.last = epochs_;
      if (!heavy || fresh.heavy == epochs_) continue;
      if (fresh.heavy == 0) {
        fresh.heavy = epochs_;
        fresh.start_ns = epoch.start_ns;
        continue;
      }
      const auto of = absl::StrCat(vital.id, "/", label.sub, " ", label.exe);
      if (told_.try_emplace(of, epochs_).second) {
        Tell(epoch, vital, label, rate, share, fresh.start_ns);
      }
      fresh_.erase(id);
      known_[id] = hour_;
    }
  }

  // Those that had their epochs and were not told are known, but for what was there once and heavy:
  // it may come again and stay.
  void LearnFresh() {
    std::erase_if(fresh_, [&](const auto& entry) {
      const auto& [id, fresh] = entry;
      if (fresh.first + kRecent > epochs_ + 1) return false;
      if (fresh.heavy == 0 || fresh.last > fresh.first) known_[id] = hour_;
      return true;
    });
  }

  void NoteBuild(const telltale_filter_epoch& epoch, const telltale_filter_label& label) {
    if (label.exe_build == 0 || label.exe[0] == '\0') return;
    if (builds_.size() >= kKnown && !builds_.contains(label.exe)) {
      ++no_room_;
      return;
    }
    Builds& builds = builds_[label.exe];
    const bool first = builds.empty();
    const auto known = builds.find(label.exe_build);
    if (known != builds.end()) {
      const uint32_t before = known->second;
      const bool replaced =
          std::ranges::any_of(builds, [&](const auto& build) { return build.second > before; });
      known->second = hour_;
      if (replaced && before + kForgetHours < hour_) NoteDeploy(epoch, label);
      return;
    }
    if (builds.size() >= kBuilds) {
      std::erase_if(builds, [&](const auto& build) { return build.second + kForgetHours < hour_; });
    }
    // Where so many are in use, one more tells nothing.
    if (builds.size() >= kBuilds) return;
    builds[label.exe_build] = hour_;
    if (!first) NoteDeploy(epoch, label);
  }

  void NoteDeploy(const telltale_filter_epoch& epoch, const telltale_filter_label& label) {
    deploys_[label.exe] = epochs_;
    Mark("", epoch.start_ns, epoch.start_ns,
         absl::StrCat("deploy: ", label.exe, " has another build id"));
  }

  void Tell(const telltale_filter_epoch& epoch, const telltale_filter_vital& vital,
            const telltale_filter_label& label, double rate, double share,
            uint64_t start_ns) const {
    const bool deployed = deploys_.contains(label.exe);
    const std::string unit = vital.unit;
    Finding found;
    found.vital = vital.name;
    found.sub = label.sub < vital.sub_count
                    ? TELLTALE_FILTER_AT(telltale_filter_sub, vital.subs, label.sub)->name
                    : "";
    found.subject = label.exe[0] == '\0' ? "the kernel" : label.exe;
    found.start_ns = start_ns;
    found.end_ns = epoch.end_ns;
    found.value = rate;
    found.deviation = 4 * FloorOf(unit) * (deployed ? 2 : 1);
    found.learned_epochs = epochs_;
    found.text = absl::StrCat(found.subject, " is new in ", found.vital, ": at least ",
                              RateText(rate, unit), ", ", PercentText(share), " of it");
    found.evidence =
        absl::StrCat("not among ", known_.size(), " kinds of event seen in the last week");
    found.against = deployed ? "its executable was replaced in the last 30 epochs"
                             : "a job that runs less than once a week is new each time";
    found.next = absl::StrCat("telltale samples --vital ", found.vital);
    Emit(found);
  }

  void Forget() {
    absl::erase_if(known_, [&](const auto& entry) { return entry.second + kForgetHours < hour_; });
    while (known_.size() > kKnown) {
      ++no_room_;
      known_.erase(std::ranges::min_element(
          known_, {}, [](const auto& entry) { return std::pair(entry.second, entry.first); }));
    }
  }

  // Where there are too many, of those that do nothing now.
  void ForgetBuilds(const telltale_filter_epoch& epoch) {
    size_t bytes = 0;
    for (const auto& [exe, builds] : builds_) bytes += exe.size() + builds.size() * kBuildRoom;
    if (builds_.size() < kKnown && bytes < kBuildBytes) return;
    std::set<std::string_view> there;
    for (uint32_t v = 0; v < epoch.vital_count; ++v) {
      const auto& vital = *TELLTALE_FILTER_AT(telltale_filter_vital, epoch.vitals, v);
      for (uint32_t i = 0; i < vital.label_count; ++i) {
        there.insert(TELLTALE_FILTER_AT(telltale_filter_label, vital.labels, i)->exe);
      }
    }
    std::erase_if(builds_, [&](const auto& entry) { return !there.contains(entry.first); });
  }

  uint64_t learn_ = kLearn;
  bool by_time_ = true;  // not where it was told how many epochs are enough
  uint64_t epochs_ = 0;
  uint64_t first_ns_ = 0, last_ns_ = 0;        // start of the first epoch, end of the latest
  uint32_t hour_ = 0;                          // since 1970
  absl::btree_map<uint64_t, uint32_t> known_;  // hour it was seen last, by id
  std::map<uint64_t, Fresh> fresh_;            // not known yet, by id
  std::map<std::string, uint64_t> told_;       // epoch, by vital, sub-series and executable
  std::map<std::string, Builds> builds_;       // by executable
  std::map<std::string, uint64_t> deploys_;    // epoch of the latest, by executable
  uint64_t no_room_ = 0;                       // labels, and executables' builds
};

}  // namespace

const telltale_filter* NewLabelFilter() { return FilterOf<NewLabel>(); }

}  // namespace telltale::filter
