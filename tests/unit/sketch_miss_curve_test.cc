// The measured chance of a miss against exact counts of simulated epochs.
#include "sketch/miss_curve.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "sketch/layout.h"
#include "sketch/miss_control.h"
#include "sketch/slot.h"

namespace telltale::sketch {
namespace {

TEST(MissCurveTest, TheHazardGrowsWithTheWeightBetweenThePointsAndBeyond) {
  const MissCurve curve{4, {0.9, 0.5, 0.1}};
  EXPECT_EQ(curve.At(15), 1) << "below the quantum";
  EXPECT_NEAR(curve.At(16), 0.9, 1e-9);
  EXPECT_NEAR(curve.At(24), std::sqrt(0.9 * 0.5), 1e-9);
  EXPECT_NEAR(curve.At(64), 0.1, 1e-9);
  EXPECT_NEAR(curve.At(96), std::pow(0.1, 1.5), 1e-9);
  EXPECT_LT(curve.At(~uint64_t{0}), 1e-9);
  EXPECT_EQ(MissCurve{}.At(1000), 1);
}

struct Epochs {
  std::string name;
  uint32_t labels = 2000, cpus = 2, longest = 1, t_log2 = 1;
  uint64_t quantum = 1;
  // Of the samples due that a cell of so few contested quanta is refused, in each CPU.
  double refused = 0;
  uint64_t light = 0;
  uint32_t t_log2_at_first = 0;  // until half of the events have come; 0: the same throughout
  uint64_t heaviest = 1;         // weights are log-uniform from 1 to this
  uint32_t heavy_log2 = 4;       // in quanta, see telltale_add
  uint32_t duty_log2 = 0;        // watched 1/2^k of the time, and what is seen stands for 2^k times
};

constexpr uint32_t kColumns = 256;
constexpr std::array kUpTo = {0.1, 0.3, 0.5, 0.7, 0.9, 1.0};
constexpr double kFewCases = 300;

struct Bin {
  double stated = 0, missed = 0, cases = 0;
  double too_high() const { return (stated - missed) / cases; }
};
using Bins = std::array<Bin, kUpTo.size()>;  // by what is stated

void Add(double stated, bool missed, Bins& bins) {
  size_t bin = 0;
  while (bin + 1 < kUpTo.size() && stated > kUpTo[bin]) ++bin;
  bins[bin].stated += stated;
  bins[bin].missed += missed;
  ++bins[bin].cases;
}

// Labels as heavy as the quantum, those not seen too: what is stated is of their weight, not of
// what was counted.
struct Compared {
  Bins measured;
  Bins corrected;  // by a control group of an eighth of the labels
  Bins of_seen;    // measured, of those alone of which an event was seen
};

// One window a period, at a random moment (agent/sensor/duty_cycler.h).
class Duty {
 public:
  explicit Duty(uint32_t duty_log2) : window_(kPeriod >> duty_log2) {}
  bool Sees(uint64_t event, std::mt19937_64& random) {
    if (event / kPeriod != period_) {
      period_ = event / kPeriod;
      offset_ = random() % (kPeriod - window_ + 1);
    }
    return event % kPeriod - offset_ < window_;
  }

 private:
  static constexpr uint64_t kPeriod = 4000;  // fifty an epoch
  uint64_t window_, period_ = ~uint64_t{0}, offset_ = 0;
};

uint64_t PowersOf(uint32_t t_log2) {
  uint64_t powers = 0;
  for (uint32_t bit = 0; bit < 64; bit += t_log2) powers |= uint64_t{1} << bit;
  return powers;
}

// Labels by Zipf's law, in runs of 1..longest on one CPU.
Compared Compare(const Epochs& epochs, std::mt19937_64& random) {
  constexpr uint64_t kEvents = 200'000;
  constexpr int kRounds = 12;
  Compared compared;
  std::vector<double> shares;
  for (uint32_t i = 0; i < epochs.labels; ++i) shares.push_back(1.0 / (i + 1));
  std::discrete_distribution<uint32_t> pick(shares.begin(), shares.end());
  std::uniform_real_distribution<double> log_weight(0,
                                                    std::log(static_cast<double>(epochs.heaviest)));
  const uint64_t powers = PowersOf(epochs.t_log2);
  const uint64_t powers_at_first =
      epochs.t_log2_at_first == 0 ? powers : PowersOf(epochs.t_log2_at_first);
  const auto quantum_log2 = static_cast<uint32_t>(std::bit_width(epochs.quantum) - 1);
  for (int round = 0; round < kRounds; ++round) {
    struct Label {
      uint64_t hash = 0, weight = 0, counted = 0;
      SampledLabel taken;
    };
    std::vector<Label> labels(epochs.labels);
    for (Label& label : labels) label.hash = random();
    std::vector<std::vector<telltale_slot>> rows(epochs.cpus, std::vector<telltale_slot>(kColumns));
    std::vector<std::vector<uint64_t>> last(epochs.cpus, std::vector<uint64_t>(kColumns));
    uint64_t refused = 0;
    Duty duty(epochs.duty_log2);
    for (uint64_t event = 0; event < kEvents;) {
      Label& label = labels[pick(random)];
      const uint64_t cpu = random() % epochs.cpus, run = 1 + random() % epochs.longest;
      const Place place = PlaceOf(label.hash, kColumns);
      telltale_slot& slot = rows[cpu][place.cell];
      for (uint64_t i = 0; i < run; ++i, ++event) {
        const auto weight = static_cast<uint64_t>(std::exp(log_weight(random)));
        label.weight += weight;
        if (!duty.Sees(event, random)) continue;
        label.counted += weight << epochs.duty_log2;
        if (telltale_add(&slot, label.hash, weight << epochs.duty_log2, quantum_log2,
                         event < kEvents / 2 ? powers_at_first : powers,
                         epochs.heavy_log2) != TELLTALE_DUE) {
          continue;
        }
        const bool light = telltale_stake(&slot, label.hash) < epochs.light;
        if (light && std::uniform_real_distribution<double>()(random) < epochs.refused) {
          telltale_refused(&slot, label.hash);
          ++refused;
          continue;
        }
        uint64_t& before = last[cpu][place.cell];
        label.taken.place = place;
        ++label.taken.samples;
        label.taken.repeated += before == label.hash;
        before = label.hash;
      }
    }
    const VotedCells cells =
        AddUp(std::vector<std::span<const telltale_slot>>(rows.begin(), rows.end()));
    std::vector<SampledLabel> sampled;
    std::vector<ExactLabel> group;
    for (const Label& label : labels) {
      if (label.taken.samples > 0) sampled.push_back(label.taken);
      if (label.hash % 8 != 0 || label.counted < epochs.quantum) continue;
      group.push_back({label.counted, label.taken.samples == 0});
    }
    const MissCurve measured = MeasureMiss(cells, sampled, refused, epochs.quantum);
    const MissCurve corrected =
        epochs.duty_log2 > 0 ? CorrectedUpwards(measured, group) : Corrected(measured, group);
    for (const Label& label : labels) {
      if (label.weight < epochs.quantum) continue;
      const bool missed = label.taken.samples == 0;
      Add(measured.At(label.weight), missed, compared.measured);
      Add(corrected.At(label.weight), missed, compared.corrected);
      if (label.counted > 0) Add(measured.At(label.weight), missed, compared.of_seen);
    }
  }
  return compared;
}

// That no bin of many labels is farther off.
void ExpectNear(const Bins& bins, double least, double most, const std::string& name) {
  for (const Bin& bin : bins) {
    if (bin.cases < kFewCases) continue;
    EXPECT_LT(bin.too_high(), most) << name << ", " << bin.cases;
    EXPECT_GT(bin.too_high(), least) << name << ", " << bin.cases;
  }
}

void ExpectNearInAll(const Bins& bins, double most, const std::string& name) {
  Bin all;
  for (const Bin& bin : bins) {
    all.stated += bin.stated, all.missed += bin.missed, all.cases += bin.cases;
  }
  EXPECT_NEAR(all.stated / all.cases, all.missed / all.cases, most) << name;
}

TEST(MissCurveTest, IsNearTheShareOfMissedLabelsInSimulatedEpochs) {
  std::mt19937_64 random(31);
  const Epochs cases[] = {
      {.name = "mixed"},
      {.name = "one CPU", .cpus = 1},
      {.name = "eight CPUs", .cpus = 8},
      {.name = "many labels", .labels = 10'000},
      {.name = "runs", .labels = 10'000, .longest = 50},
      {.name = "t = 4", .t_log2 = 2},
      {.name = "t = 16", .t_log2 = 4},
      {.name = "quantum", .quantum = 16},
      {.name = "the light are refused", .refused = 0.9, .light = 32},
      {.name = "and come in runs", .labels = 10'000, .longest = 50, .refused = 0.9, .light = 32},
  };
  for (const Epochs& epochs : cases) {
    const Bins bins = Compare(epochs, random).measured;
    // Where labels come in runs and tokens are plenty, those missed most are stated too high.
    ExpectNear(bins, -0.12, epochs.longest > 1 ? 0.3 : 0.2, epochs.name);
    ExpectNearInAll(bins, epochs.longest > 1 ? 0.14 : 0.12, epochs.name);
  }
}

TEST(MissCurveTest, IsAsNearWhereTChangesWithinTheEpoch) {
  std::mt19937_64 random(32);
  const Epochs cases[] = {
      {.name = "t = 2, then 4", .t_log2 = 2, .t_log2_at_first = 1},
      {.name = "t = 4, then 2", .t_log2_at_first = 2},
      {.name = "t = 2, then 256", .t_log2 = 8, .t_log2_at_first = 1},
      {.name = "t = 256, then 2", .t_log2_at_first = 8},
  };
  for (const Epochs& epochs : cases) {
    const Compared compared = Compare(epochs, random);
    ExpectNear(compared.measured, -0.12, 0.2, epochs.name);
    ExpectNearInAll(compared.measured, 0.12, epochs.name);
    ExpectNear(compared.corrected, -0.06, 0.2, epochs.name);
  }
}

// A light label's events are lighter than the others', so they are kept more often than its weight
// says. The control group knows.
TEST(MissCurveTest, IsTooHighForLabelsMissedMostWhereWeightsDifferUntilItIsCorrected) {
  std::mt19937_64 random(33);
  const Epochs cases[] = {
      {.name = "weights", .heaviest = 10'000, .heavy_log2 = 14},
      {.name = "above a quantum", .quantum = 1024, .heaviest = 10'000},
      {.name = "t = 2, then 4",
       .t_log2 = 2,
       .quantum = 64,
       .t_log2_at_first = 1,
       .heaviest = 10'000,
       .heavy_log2 = 8},
  };
  for (const Epochs& epochs : cases) {
    const Compared compared = Compare(epochs, random);
    ExpectNear(compared.measured, -0.05, 0.35, epochs.name);
    ExpectNearInAll(compared.measured, 0.12, epochs.name);
    ExpectNear(compared.corrected, -0.06, 0.2, epochs.name);
    ExpectNearInAll(compared.corrected, 0.06, epochs.name);
  }
}

TEST(MissCurveTest, IsAsNearWhereAnEighthOfTheTimeIsWatched) {
  std::mt19937_64 random(34);
  const Epochs cases[] = {
      {.name = "mixed", .duty_log2 = 3},
      {.name = "quantum", .quantum = 16, .heavy_log2 = 1, .duty_log2 = 3},
      {.name = "t = 2, then 4", .t_log2 = 2, .t_log2_at_first = 1, .duty_log2 = 3},
      {.name = "weights", .quantum = 64, .heaviest = 10'000, .heavy_log2 = 8, .duty_log2 = 3},
      {.name = "weights, eight CPUs",
       .cpus = 8,
       .quantum = 64,
       .heaviest = 10'000,
       .heavy_log2 = 8,
       .duty_log2 = 3},
  };
  for (const Epochs& epochs : cases) {
    const Compared compared = Compare(epochs, random);
    const double most = epochs.heaviest > 1 ? 0.4 : 0.2;
    ExpectNear(compared.measured, -0.06, most, epochs.name);
    ExpectNear(compared.corrected, -0.06, most, epochs.name);
    ExpectNearInAll(compared.corrected, 0.12, epochs.name);
  }
}

// A run between two windows leaves nothing: of labels that come in one, seven of eight.
TEST(MissCurveTest, WhereLabelsComeInRunsAndAnEighthOfTheTimeIsWatchedItIsOfThoseSeen) {
  std::mt19937_64 random(35);
  const Epochs cases[] = {
      {.name = "runs", .labels = 10'000, .longest = 50, .duty_log2 = 3},
      {.name = "weights",
       .labels = 10'000,
       .longest = 50,
       .quantum = 64,
       .heaviest = 10'000,
       .heavy_log2 = 8,
       .duty_log2 = 3},
  };
  for (const Epochs& epochs : cases) {
    const Compared compared = Compare(epochs, random);
    ExpectNear(compared.of_seen, -0.12, 0.6, epochs.name);
    EXPECT_LT(compared.measured[1].too_high(), -0.4) << "of all it is far too low";
  }
}

TEST(MissCurveTest, OfCellsThatHoldOneLabelEachItIsTheShareOfThoseWithoutASample) {
  VotedCells cells{std::vector<uint64_t>(256, 1000), std::vector<uint64_t>(256, 0), {}};
  std::vector<SampledLabel> sampled;
  for (uint32_t cell = 0; cell < 256; ++cell) {
    cells.leads.push_back({{cell, 7}, 1000});
    if (cell % 4 != 0) sampled.push_back({{cell, 7}, 1, 0});
  }
  // The octave's middle lies at 724.
  EXPECT_NEAR(MeasureMiss(cells, sampled, 0, 1).At(724), 0.25, 0.15);
  EXPECT_LT(MeasureMiss(cells, sampled, 0, 1).At(4000), 0.02);
}

TEST(MissCurveTest, WithoutASampleAllIsMissed) {
  VotedCells cells{std::vector<uint64_t>(256, 1000), std::vector<uint64_t>(256, 400), {}};
  for (uint32_t cell = 0; cell < 256; ++cell) cells.leads.push_back({{cell, 7}, 200});
  EXPECT_GT(MeasureMiss(cells, {}, 1000, 1).At(100), 0.99);
}

}  // namespace
}  // namespace telltale::sketch
