// An hour unlike the same hour of the weeks before: its mean rate against the median of the rates
// of that hour and its two neighbours in the eight weeks before, in units of their deviation (MAD).
// Neighbours count in because a week gives one value only, and a nightly job may start a little
// earlier or later. It asks the host for the past, so its own state is the running hour.

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

constexpr uint64_t kHourNs = 3'600'000'000'000;
constexpr uint64_t kWeekNs = 7 * 24 * kHourNs;
constexpr uint64_t kWeeks = 8;        // looked back
constexpr uint64_t kWeeksNeeded = 3;  // with data for this hour
constexpr double kDeviations = 6;
constexpr double kWatched = 0.75;  // of an hour, or it is not judged

class Seasonal : public Detector {
 public:
  static constexpr DetectorFacts kFacts = {
      .name = "seasonal",
      .version = 1,
      .needs = TELLTALE_NEEDS_TOTALS,
      .about = "an hour unlike the same hour of the weeks before",
      .make = Make<Seasonal>};

  explicit Seasonal(const telltale_filter_host& host) : Detector(host) {}

  void Epoch(const telltale_filter_epoch& epoch) override {
    const uint64_t hour = epoch.start_ns / kHourNs * kHourNs;
    if (hour != hour_ns_) {
      if (hour_ns_ != 0) Judge();
      hour_ns_ = hour;
      sums_.clear();
    }
    if (!IsUsual(epoch)) return;
    for (const Rate& rate : RatesOf(epoch)) {
      Sum& sum = sums_[rate.key];
      const double seconds = static_cast<double>(rate.vital->watched_ns) / 1e9;
      sum.weight += rate.per_second * seconds;
      sum.seconds += seconds;
      sum.vital = rate.vital->name;
      sum.sub = rate.sub->name;
      sum.unit = rate.vital->unit;
    }
  }

  void Save(StateWriter& to) const override {
    to.Put(hour_ns_);
    to.Put(weeks_);
    to.Put(static_cast<uint32_t>(sums_.size()));
    for (const auto& [key, sum] : sums_) {
      to.Put(key);
      to.Put(sum.weight);
      to.Put(sum.seconds);
      to.Text(sum.vital);
      to.Text(sum.sub);
      to.Text(sum.unit);
    }
  }
  bool Load(StateReader& from) override {
    hour_ns_ = from.Get<uint64_t>();
    weeks_ = from.Get<uint64_t>();
    const auto count = from.Get<uint32_t>();
    for (uint32_t i = 0; i < count && from.ok(); ++i) {
      Sum& sum = sums_[from.Get<uint16_t>()];
      sum.weight = from.Get<double>();
      sum.seconds = from.Get<double>();
      sum.vital = from.Text();
      sum.sub = from.Text();
      sum.unit = from.Text();
    }
    return from.ok();
  }
  Learned HowFar() const override {
    return {std::min(weeks_, kWeeksNeeded), kWeeksNeeded, "weeks"};
  }

 private:
  struct Sum {
    double weight = 0, seconds = 0;
    std::string vital, sub, unit;
  };
  struct Past {
    std::vector<double> rates;
    uint64_t weeks = 0;  // with this very hour
  };

  void Judge() {
    std::map<uint16_t, Past> past;
    weeks_ = 0;
    for (uint64_t week = 1; week <= kWeeks && host().hour != nullptr; ++week) {
      for (const int64_t beside : {-1, 0, 1}) {
        Visit visit{&past, beside == 0, false};
        const uint64_t at = hour_ns_ - week * kWeekNs + static_cast<uint64_t>(beside) * kHourNs;
        host().hour(host().context, at, Show, &visit);
        if (beside == 0 && visit.usable) ++weeks_;
      }
    }
    for (const auto& [key, sum] : sums_) {
      const auto found = past.find(key);
      if (found == past.end() || found->second.weeks < kWeeksNeeded) continue;
      if (sum.seconds < kWatched * 3600) continue;
      JudgeOne(sum, found->second);
    }
  }

  struct Visit {
    std::map<uint16_t, Past>* past;
    bool same_hour;
    bool usable;
  };
  static void Show(void* argument, const telltale_filter_epoch* hour) {
    Visit& visit = *static_cast<Visit*>(argument);
    if (static_cast<double>(hour->watched_ns) < kWatched * kHourNs) return;
    visit.usable = true;
    for (const Rate& rate : RatesOf(*hour)) {
      Past& past = (*visit.past)[rate.key];
      past.rates.push_back(rate.per_second);
      past.weeks += visit.same_hour ? 1 : 0;
    }
  }

  void JudgeOne(const Sum& sum, const Past& past) const {
    const double rate = sum.weight / sum.seconds;
    const double usual = Median(past.rates);
    // A tenth of the usual: a week is too short to know a deviation well.
    const double scale = std::max({MadScale(past.rates), FloorOf(sum.unit), std::abs(usual) / 10});
    const auto [lowest, highest] = std::ranges::minmax(past.rates);
    if (std::abs(rate - usual) <= kDeviations * scale) return;
    if (rate >= lowest && rate <= highest) return;
    Finding found;
    found.vital = sum.vital;
    found.sub = sum.sub;
    found.start_ns = hour_ns_;
    found.end_ns = hour_ns_ + kHourNs;
    found.value = rate;
    found.expected = usual;
    found.deviation = scale;
    found.learned_epochs = past.rates.size();
    found.text = absl::StrCat(sum.vital, "/", sum.sub, " ", rate > usual ? "high" : "low",
                              " for this hour of the week: ", RateText(rate, sum.unit),
                              "; usual is ", RateText(usual, sum.unit));
    found.evidence =
        absl::StrCat(past.weeks, " weeks, ", past.rates.size(), " hours at this time between ",
                     RateText(lowest, sum.unit), " and ", RateText(highest, sum.unit));
    found.against = "holidays and moved jobs look the same";
    Emit(found);
  }

  uint64_t hour_ns_ = 0;
  uint64_t weeks_ = 0;  // with data for the hour that was judged last
  std::map<uint16_t, Sum> sums_;
};

}  // namespace

const telltale_filter* SeasonalFilter() { return FilterOf<Seasonal>(); }

}  // namespace telltale::filter
