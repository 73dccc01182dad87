// Memory of a process that only grows: the slope of its resident bytes over the last 40 epochs
// (of a minute at least; Theil-Sen), where a rise so steady comes by chance less than once in
// 10,000 (Mann-Kendall) and is worth more than 1 MB an hour. Resident bytes are the process's own
// pages and the files it has mapped, not the page cache. Growth that has stopped is a start-up and
// no leak: the later half must still rise at half the pace at least. Caches of a program that was
// started lately fill up for longer than that, at a pace that hardly falls: until a process has
// been followed for two hours, it is told only if it doubled meanwhile. Rule 2 of Chopstix 3.2.

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/detector.h"
#include "collector/filter/detect/detectors.h"
#include "collector/filter/detect/rates.h"
#include "collector/filter/detect/robust.h"
#include "sketch/time_units.h"

namespace telltale::filter {
namespace {

constexpr uint64_t kApartS = 60;   // between rows that count: with short epochs a start is no trend
constexpr size_t kWindow = 40;     // epochs
constexpr size_t kNeeded = 30;     // of them, to judge
constexpr size_t kProcesses = 48;  // followed on a node, those that grew most
constexpr uint64_t kForget = 3;    // epochs without a row, and so long: one that sleeps between
constexpr uint32_t kForgetS = 300;  // its growths is not in each epoch's rows
constexpr double kChance = 1e-4;
constexpr double kBytesPerHour = 1e6;
constexpr double kPages = 16 * 4096;  // growth below it is how an allocator breathes
constexpr uint32_t kYoungS = 2 * 3600;
constexpr double kYoungTimes = 2;

class Leak : public Detector {
 public:
  static constexpr DetectorFacts kFacts = {.name = "leak",
                                           .version = 3,
                                           .needs = TELLTALE_NEEDS_PROCESSES,
                                           .about = "a process whose memory only grows",
                                           .history_epochs = kWindow,
                                           .rule = 2,
                                           .make = Make<Leak>};

  explicit Leak(const telltale_filter_host& host) : Detector(host) {}

  void Epoch(const telltale_filter_epoch& epoch) override {
    const auto column = ColumnOf(epoch, TELLTALE_PROCESS_RSS_BYTES);
    if (!IsUsual(epoch) || !column.has_value()) return;
    ++epochs_;
    for (uint32_t i = 0; i < epoch.process_count; ++i) {
      const auto& process = *TELLTALE_FILTER_AT(telltale_filter_process, epoch.processes, i);
      if (process.pid == 0 || process.value[*column] == 0) continue;
      Track& track = tracks_[{process.pid, process.start_ns}];
      track.seen = epochs_;
      track.seen_s = static_cast<uint32_t>(epoch.end_ns / kNsPerS);
      track.name = ProcessText(process);
      const uint64_t end_s = epoch.end_ns / kNsPerS;
      if (track.time_s.empty()) track.first_s = static_cast<uint32_t>(end_s);
      if (!track.time_s.empty() && end_s < track.time_s.back() + kApartS) continue;
      track.time_s.push_back(static_cast<uint32_t>(epoch.end_ns / kNsPerS));
      track.bytes.push_back(static_cast<float>(process.value[*column]));
      if (track.bytes.size() > kWindow) {
        track.bytes.erase(track.bytes.begin());
        track.time_s.erase(track.time_s.begin());
      }
      Judge(epoch, track);
    }
    for (auto it = tracks_.begin(); it != tracks_.end();) {
      const bool gone = it->second.seen + kForget <= epochs_ &&
                        it->second.seen_s + kForgetS <= epoch.end_ns / kNsPerS;
      if (gone && it->second.open) Tell(it->second, epoch.start_ns, false);
      it = gone ? tracks_.erase(it) : std::next(it);
    }
    KeepThoseThatGrewMost();
  }

  void Save(StateWriter& to) const override {
    to.Put(epochs_);
    to.Map(tracks_, [&](const Track& track) {
      to.Put(track.seen);
      to.Put(track.seen_s);
      to.Put(track.first_s);
      to.Text(track.name);
      to.List(track.time_s);
      to.List(track.bytes);
      to.Put(static_cast<uint8_t>(track.open));
      to.Put(track.start_ns);
      to.Put(track.slope);
      to.Put(track.p);
      to.Put(track.grown);
    });
  }
  bool Load(StateReader& from) override {
    epochs_ = from.Get<uint64_t>();
    bool fits = true;
    from.Map(tracks_, [&](Track& track) {
      track.seen = from.Get<uint64_t>();
      track.seen_s = from.Get<uint32_t>();
      track.first_s = from.Get<uint32_t>();
      track.name = from.Text();
      track.time_s = from.List<uint32_t>();
      track.bytes = from.List<float>();
      track.open = from.Get<uint8_t>() != 0;
      track.start_ns = from.Get<uint64_t>();
      track.slope = from.Get<double>();
      track.p = from.Get<double>();
      track.grown = from.Get<double>();
      fits = fits && track.bytes.size() == track.time_s.size() && track.bytes.size() <= kWindow;
    });
    return from.ok() && fits;
  }
  Learned HowFar() const override { return {epochs_, kNeeded}; }

 private:
  struct Track {
    uint64_t seen = 0;  // epoch of its last row, counted as epochs_ does
    uint32_t seen_s = 0;
    uint32_t first_s = 0;  // of its first row
    std::string name;
    std::vector<uint32_t> time_s;  // of its last kWindow rows
    std::vector<float> bytes;
    bool open = false;
    uint64_t start_ns = 0;
    double slope = 0, p = 1, grown = 0;  // bytes an hour, when it was told last; bytes since start
  };

  static Trend TrendOf(const Track& track, size_t from) {
    std::vector<double> hours, bytes;
    for (size_t i = from; i < track.bytes.size(); ++i) {
      hours.push_back(static_cast<double>(track.time_s[i] - track.time_s[0]) / 3600);
      bytes.push_back(track.bytes[i]);
    }
    return TheilSen(hours, bytes);
  }

  void Judge(const telltale_filter_epoch& epoch, Track& track) const {
    if (track.bytes.size() < kNeeded || track.time_s.back() <= track.time_s.front()) return;
    const double grown = track.bytes.back() - track.bytes.front();
    const bool fills = !track.open && track.time_s.back() < track.first_s + kYoungS &&
                       track.bytes.back() < kYoungTimes * track.bytes.front();
    // Most processes do not grow: no need for all pairs.
    const bool may_leak = grown > kPages && !fills;
    if (!may_leak && !track.open) return;
    const Trend trend = TrendOf(track, 0);
    const Trend later = TrendOf(track, track.bytes.size() / 2);
    const bool leaks = may_leak && trend.p < kChance && trend.slope > kBytesPerHour &&
                       later.slope > trend.slope / 2;
    if (leaks == track.open) return;
    track.open = leaks;
    if (leaks) {
      track.start_ns = uint64_t{track.time_s.front()} * kNsPerS;
      track.slope = trend.slope;
      track.p = trend.p;
      track.grown = grown;
    }
    Tell(track, epoch.end_ns, leaks);
  }

  void Tell(const Track& track, uint64_t end_ns, bool open) const {
    Finding found;
    found.vital = "user_page";
    found.subject = track.name;
    found.start_ns = track.start_ns;
    found.end_ns = end_ns;
    found.open = open;
    found.value = track.slope / 3600;
    found.deviation = kBytesPerHour / 3600;
    found.learned_epochs = kNeeded;
    found.text =
        absl::StrCat(track.name, " grows by ", BytesText(track.slope),
                     " an hour and gives nothing back: ", BytesText(track.grown), " so far");
    found.evidence = absl::StrCat("resident bytes, Theil-Sen over ", kNeeded, " to ", kWindow,
                                  " epochs, p = ", PText(track.p));
    found.against = "a cache that fills up grows the same until it is full";
    found.cause = "memory leak";
    found.next = "telltale top --vital user_page --by site";
    Emit(found);
  }

  void KeepThoseThatGrewMost() {
    if (tracks_.size() <= kProcesses) return;
    // Open ones stay; then growth, then the process number so that equals are told apart.
    std::vector<std::tuple<bool, float, std::pair<uint32_t, uint64_t>>> order;
    for (const auto& [key, track] : tracks_) {
      order.emplace_back(!track.open, track.bytes.front() - track.bytes.back(), key);
    }
    std::ranges::sort(order);
    for (size_t i = kProcesses; i < order.size(); ++i) tracks_.erase(std::get<2>(order[i]));
  }

  uint64_t epochs_ = 0;
  std::map<std::pair<uint32_t, uint64_t>, Track> tracks_;  // by pid and start
};

}  // namespace

const telltale_filter* LeakFilter() { return FilterOf<Leak>(); }

}  // namespace telltale::filter
