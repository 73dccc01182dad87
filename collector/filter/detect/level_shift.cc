// A sub-series that went to another level and stayed there: the median of the last 10 epochs
// against that of the 20 before, in units of their deviation (MAD). Medians of two windows and MAD
// as a scale are the usual robust two-sample comparison; what makes it quiet are two more
// conditions: eight of the last ten lie beyond the middle between both levels, and the step is four
// times what the two medians usually differ by on this node, so that loads that come and go are no
// steps. Where more than ten epochs in a row are missing, of the node or of the vital, what was
// before them is not compared with what comes after.

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/detector.h"
#include "collector/filter/detect/detectors.h"
#include "collector/filter/detect/rates.h"
#include "collector/filter/detect/robust.h"

namespace telltale::filter {
namespace {

constexpr size_t kBefore = 20, kAfter = 10;
constexpr uint64_t kLearn = 60;    // epochs, so that "usually" means something
constexpr double kDeviations = 4;  // of the MAD scale
constexpr double kUsualSteps = 4;  // of the usual difference of the two medians
constexpr size_t kBeyond = 8;      // of kAfter
constexpr double kMemory = 1.0 / 64;

class LevelShift : public Detector {
 public:
  static constexpr DetectorFacts kFacts = {
      .name = "level_shift",
      .version = 3,
      .needs = TELLTALE_NEEDS_TOTALS,
      .about = "a rate that went to another level and stayed there",
      .history_epochs = kLearn,
      .make = Make<LevelShift>};

  explicit LevelShift(const telltale_filter_host& host) : Detector(host) {}

  void Epoch(const telltale_filter_epoch& epoch) override {
    if (!IsUsual(epoch)) return;
    for (const Rate& rate : RatesOf(epoch)) {
      Track& track = tracks_[rate.key];
      if (epoch.start_ns > track.end_ns + kAfter * (epoch.end_ns - epoch.start_ns)) {
        track.rate.clear();
        track.start_ns.clear();
      }
      track.end_ns = epoch.end_ns;
      track.rate.push_back(static_cast<float>(rate.per_second));
      track.start_ns.push_back(epoch.start_ns);
      if (track.rate.size() > kBefore + kAfter) track.rate.erase(track.rate.begin());
      if (track.start_ns.size() > kAfter) track.start_ns.erase(track.start_ns.begin());
      ++track.learned;
      if (track.rate.size() == kBefore + kAfter) Judge(epoch, rate, track);
    }
  }

  void Save(StateWriter& to) const override {
    to.Put(static_cast<uint32_t>(tracks_.size()));
    for (const auto& [key, track] : tracks_) {
      to.Put(key);
      to.Put(track.learned);
      to.Put(track.usual_step);
      to.Put(track.end_ns);
      to.List(track.rate);
      to.List(track.start_ns);
    }
  }
  bool Load(StateReader& from) override {
    const auto count = from.Get<uint32_t>();
    for (uint32_t i = 0; i < count && from.ok(); ++i) {
      Track& track = tracks_[from.Get<uint16_t>()];
      track.learned = from.Get<uint64_t>();
      track.usual_step = from.Get<double>();
      track.end_ns = from.Get<uint64_t>();
      track.rate = from.List<float>();
      track.start_ns = from.List<uint64_t>();
      if (track.rate.size() > kBefore + kAfter || track.start_ns.size() > kAfter) return false;
    }
    return from.ok();
  }
  Learned HowFar() const override {
    uint64_t most = 0;
    for (const auto& [key, track] : tracks_) most = std::max(most, track.learned);
    return {most, kLearn};
  }

 private:
  struct Track {
    uint64_t learned = 0;
    double usual_step = 0;
    uint64_t end_ns = 0;             // of the last epoch that told of it
    std::vector<float> rate;         // the last kBefore + kAfter
    std::vector<uint64_t> start_ns;  // of the last kAfter
  };

  void Judge(const telltale_filter_epoch& epoch, const Rate& rate, Track& track) const {
    const std::vector<double> before(track.rate.begin(), track.rate.begin() + kBefore);
    const std::vector<double> after(track.rate.begin() + kBefore, track.rate.end());
    const double old_level = Median(before), new_level = Median(after);
    const double step = std::abs(new_level - old_level);
    const double scale = std::max(
        {MadScale(before), MadScale(after), FloorOf(rate.vital->unit), std::abs(old_level) / 20});
    const double usual = track.usual_step;
    const double middle = (old_level + new_level) / 2;
    const auto beyond = static_cast<size_t>(std::ranges::count_if(
        after, [&](double value) { return (value > middle) == (new_level > old_level); }));
    const bool shifted = track.learned >= kLearn && beyond >= kBeyond &&
                         step > kDeviations * scale && step > kUsualSteps * usual;
    if (!shifted) {
      const double weight = std::max(kMemory, 1 / static_cast<double>(track.learned - kBefore));
      track.usual_step += std::min(weight, 1.0) * (step - track.usual_step);
      return;
    }
    // It began with the first of those that are nearer to the new level for good.
    size_t first = kAfter;
    while (first > 0 && (after[first - 1] > middle) == (new_level > old_level)) --first;
    if (first == kAfter) first = kAfter - 1;
    const double level = Median({after.begin() + static_cast<std::ptrdiff_t>(first), after.end()});
    const std::string unit = rate.vital->unit;
    Finding found;
    found.vital = rate.vital->name;
    found.sub = rate.sub->name;
    found.start_ns = track.start_ns[first];
    found.end_ns = epoch.end_ns;
    found.value = level;
    found.expected = old_level;
    found.deviation = scale;
    found.learned_epochs = track.learned;
    found.text = absl::StrCat(found.vital, "/", found.sub, " went from ", RateText(old_level, unit),
                              " to ", RateText(level, unit), " and stays there");
    found.evidence =
        absl::StrCat(beyond, " of the last ", kAfter, " epochs beyond the middle; a step ",
                     absl::StrFormat("%.1f", step / scale),
                     " deviations high, medians here usually differ by ", RateText(usual, unit));
    found.against =
        "a new load does the same as a fault: look for a deploy or a job at its beginning";
    Emit(found);
    // What lies before the step is no longer a level to compare with.
    track.rate.erase(track.rate.begin(),
                     track.rate.begin() + static_cast<std::ptrdiff_t>(kBefore + first));
  }

  std::map<uint16_t, Track> tracks_;  // by Rate::key
};

}  // namespace

const telltale_filter* LevelShiftFilter() { return FilterOf<LevelShift>(); }

}  // namespace telltale::filter
