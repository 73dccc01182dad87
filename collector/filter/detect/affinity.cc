// What is there when a vital is high: pairs of a vital and a label of another one that come
// together far more often than chance. High is an epoch more than four deviations (MAD) above the
// median of the last 120. A pair is told when the label was there in at least five high epochs,
// three times as often as in all epochs (lift, as in association rules: Brin et al., SIGMOD 1997),
// and a binomial chance for it, times the number of labels looked at (Bonferroni), is below 1e-4.
// A program that works has labels in many vitals, all with one thing to tell: it is there. So a
// vital and a program are told once, by the label that says it best.

#include <algorithm>
#include <bitset>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/detector.h"
#include "collector/filter/detect/detectors.h"
#include "collector/filter/detect/rates.h"
#include "collector/filter/detect/robust.h"

namespace telltale::filter {
namespace {

constexpr size_t kWindow = 120;  // epochs
constexpr size_t kNeeded = 60;   // of them, to judge
constexpr size_t kLabels = 512;  // remembered on a node
constexpr double kHigh = 4;      // deviations
constexpr int kTogether = 5;     // epochs
constexpr double kLift = 3;
constexpr double kChance = 1e-4;
constexpr double kShare = 0.01;      // of its vital's weight; lighter ones are there by chance
constexpr uint64_t kAgain = 10'080;  // epochs until a pair is told again
constexpr size_t kTold = 2'048;      // pairs remembered as told

using Epochs = std::bitset<kWindow>;  // bit i: i epochs ago

class Affinity : public Detector {
 public:
  static constexpr DetectorFacts kFacts = {.name = "affinity",
                                           .version = 3,
                                           .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_LABELS,
                                           .about = "what is there whenever a vital is high",
                                           .history_epochs = kWindow,
                                           .make = Make<Affinity>};

  explicit Affinity(const telltale_filter_host& host) : Detector(host) {}

  void Epoch(const telltale_filter_epoch& epoch) override {
    if (!IsUsual(epoch)) return;
    ++epochs_;
    for (auto& [id, seen] : labels_) seen <<= 1;
    const std::vector<const telltale_filter_vital*> high = NoteVitals(epoch);
    const std::vector<Present> present = NoteLabels(epoch);
    for (const telltale_filter_vital* vital : high) {
      if (epochs_ < kNeeded) continue;
      Judge(epoch, *vital, present);
    }
    absl::erase_if(labels_, [](const auto& label) { return label.second.none(); });
    std::erase_if(told_, [&](const auto& told) { return told.second + kAgain <= epochs_; });
  }

  void Save(StateWriter& to) const override {
    to.Put(epochs_);
    to.Put(static_cast<uint32_t>(vitals_.size()));
    for (const auto& [id, track] : vitals_) {
      to.Put(id);
      to.List(track.rate);
      PutEpochs(to, track.high);
    }
    to.Put(static_cast<uint32_t>(labels_.size()));
    for (const auto& [id, seen] : labels_) {
      to.Put(id);
      PutEpochs(to, seen);
    }
    to.Map(told_, [&](uint64_t epoch) { to.Put(epoch); });
  }
  bool Load(StateReader& from) override {
    epochs_ = from.Get<uint64_t>();
    for (auto n = from.Get<uint32_t>(); n > 0 && from.ok(); --n) {
      Track& track = vitals_[from.Get<uint32_t>()];
      track.rate = from.List<float>();
      track.high = GetEpochs(from);
      if (track.rate.size() > kWindow) return false;
    }
    for (auto n = from.Get<uint32_t>(); n > 0 && from.ok(); --n) {
      const auto id = from.Get<uint64_t>();
      labels_.emplace_hint(labels_.end(), id, GetEpochs(from));
    }
    from.Map(told_, [&](uint64_t& epoch) { epoch = from.Get<uint64_t>(); });
    return from.ok();
  }
  Learned HowFar() const override {
    return {.of = epochs_, .needed = kNeeded, .no_room = no_room_};
  }

 private:
  struct Track {
    std::vector<float> rate;  // of the last kWindow epochs
    Epochs high;
  };
  struct Present {
    uint64_t id;
    const telltale_filter_vital* vital;
    const telltale_filter_label* label;
  };
  // How often a label was there when a vital was high, and by what chance.
  struct Pair {
    const Present* label = nullptr;
    int together = 0, highs = 0;
    size_t seen = 0;  // epochs
    double all = 0;   // epochs
    double lift = 0, chance = 1;
  };

  static void PutEpochs(StateWriter& to, const Epochs& epochs) {
    const Epochs low(~uint64_t{0});
    to.Put(uint64_t{(epochs & low).to_ullong()});
    to.Put(uint64_t{(epochs >> 64).to_ullong()});
  }
  static Epochs GetEpochs(StateReader& from) {
    const Epochs low(from.Get<uint64_t>());
    return low | (Epochs(from.Get<uint64_t>()) << 64);
  }

  // Those that are high in this epoch.
  std::vector<const telltale_filter_vital*> NoteVitals(const telltale_filter_epoch& epoch) {
    std::map<uint32_t, std::pair<const telltale_filter_vital*, double>> rates;
    for (const Rate& rate : RatesOf(epoch)) {
      auto& [vital, sum] = rates[rate.vital->id];
      vital = rate.vital;
      sum += rate.per_second;
    }
    for (auto& [id, track] : vitals_) track.high <<= 1;
    std::vector<const telltale_filter_vital*> high;
    for (const auto& [id, rate] : rates) {
      Track& track = vitals_[id];
      const std::vector<double> past(track.rate.begin(), track.rate.end());
      const double usual = Median(past);
      const double scale = std::max({MadScale(past), FloorOf(rate.first->unit), usual / 20});
      if (past.size() >= kNeeded / 2 && rate.second > usual + kHigh * scale) {
        track.high[0] = true;
        high.push_back(rate.first);
      }
      track.rate.push_back(static_cast<float>(rate.second));
      if (track.rate.size() > kWindow) track.rate.erase(track.rate.begin());
    }
    return high;
  }

  std::vector<Present> NoteLabels(const telltale_filter_epoch& epoch) {
    std::vector<Present> present;
    std::set<uint64_t> seen;
    for (uint32_t v = 0; v < epoch.vital_count; ++v) {
      const auto& vital = *TELLTALE_FILTER_AT(telltale_filter_vital, epoch.vitals, v);
      const std::vector<double> wholes = WholesOf(vital);
      for (uint32_t i = 0; i < vital.label_count; ++i) {
        const auto& label = *TELLTALE_FILTER_AT(telltale_filter_label, vital.labels, i);
        const uint64_t id = label.stable_id ^ (uint64_t{vital.id} << 56);
        if (ShareOf(label, wholes) < kShare || !seen.insert(id).second) continue;
        if (labels_.size() >= kLabels && !labels_.contains(id)) {
          ++no_room_;
          continue;
        }
        labels_[id][0] = true;
        present.push_back({id, &vital, &label});
      }
    }
    return present;
  }

  // Of each program the pair that chance makes least likely.
  void Judge(const telltale_filter_epoch& epoch, const telltale_filter_vital& vital,
             const std::vector<Present>& present) {
    std::map<std::string_view, Pair> best;
    for (const Present& label : present) {
      // A label of the same vital is part of what is high.
      if (label.vital->id == vital.id || told_.contains({vital.id, label.label->exe})) continue;
      const Pair pair = PairOf(vital, label, present.size());
      if (pair.together < kTogether || pair.lift < kLift || pair.chance >= kChance) continue;
      const auto [known, first] = best.try_emplace(label.label->exe, pair);
      if (!first && pair.chance < known->second.chance) known->second = pair;
    }
    for (const auto& [program, pair] : best) {
      Tell(epoch, vital, pair);
      if (told_.size() >= kTold) {
        told_.erase(
            std::ranges::min_element(told_, {}, [](const auto& told) { return told.second; }));
      }
      told_[{vital.id, std::string(program)}] = epochs_;
    }
  }

  Pair PairOf(const telltale_filter_vital& vital, const Present& label, size_t looked_at) {
    const Epochs& high = vitals_[vital.id].high;
    const Epochs& seen = labels_[label.id];
    Pair pair;
    pair.label = &label;
    pair.together = static_cast<int>((high & seen).count());
    pair.highs = static_cast<int>(high.count());
    pair.seen = seen.count();
    pair.all = static_cast<double>(std::min<uint64_t>(epochs_, kWindow));
    const double share = static_cast<double>(pair.seen) / pair.all;
    pair.lift = static_cast<double>(pair.together) / pair.highs / share;
    pair.chance = BinomialTail(pair.highs, pair.together, share) *
                  static_cast<double>(std::max<size_t>(looked_at, 1));
    return pair;
  }

  void Tell(const telltale_filter_epoch& epoch, const telltale_filter_vital& vital,
            const Pair& pair) const {
    const telltale_filter_label& label = *pair.label->label;
    Finding found;
    found.vital = vital.name;
    found.subject = label.exe[0] == '\0' ? "the kernel" : label.exe;
    found.start_ns = epoch.start_ns;
    found.end_ns = epoch.end_ns;
    found.value = pair.lift;
    found.expected = 1;
    found.deviation = 1;
    found.learned_epochs = static_cast<uint64_t>(pair.all);
    found.text = absl::StrCat("whenever ", vital.name, " is high, ", found.subject, " is there in ",
                              pair.label->vital->name);
    found.evidence = absl::StrFormat(
        "in %d of %d high epochs, in %d of all %.0f: %.1f times as often; by chance %s",
        pair.together, pair.highs, pair.seen, pair.all, pair.lift, PText(pair.chance));
    found.against = "what comes together need not cause one another";
    Emit(found);
  }

  uint64_t epochs_ = 0;
  std::map<uint32_t, Track> vitals_;                           // by id
  absl::btree_map<uint64_t, Epochs> labels_;                   // by id
  std::map<std::pair<uint32_t, std::string>, uint64_t> told_;  // epoch, by vital and program
  uint64_t no_room_ = 0;                                       // labels
};

}  // namespace

const telltale_filter* AffinityFilter() { return FilterOf<Affinity>(); }

}  // namespace telltale::filter
