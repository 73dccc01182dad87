// The formulas of log-sampling against exact counts of simulated epochs.
#include "sketch/log_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

namespace telltale::sketch {
namespace {

TEST(CrossedPowerTest, AgreesWithTryingEveryPower) {
  std::mt19937_64 random(21);
  for (int round = 0; round < 50'000; ++round) {
    const uint64_t quantum = 1 + random() % 5000;
    const auto t_log2 = static_cast<uint32_t>(1 + random() % 16);
    const uint64_t before = random() >> (2 + random() % 62);
    const uint64_t after = before + (random() >> (2 + random() % 62));
    uint64_t expected = 0;
    for (uint32_t j = 0; j * t_log2 < 64; ++j) {
      const uint64_t power = uint64_t{1} << j * t_log2;
      if (power > before / quantum && power <= after / quantum) expected = power;
    }
    ASSERT_EQ(CrossedPower(before, after, quantum, t_log2), expected)
        << before << " -> " << after << " q " << quantum << " t 2^" << t_log2;
  }
}

TEST(CrossedPowerTest, NothingBelowTheQuantumIsEligible) {
  EXPECT_EQ(CrossedPower(0, 999, 1000, 1), 0u);
  EXPECT_EQ(CrossedPower(0, 1000, 1000, 1), 1u);
  EXPECT_EQ(CrossedPower(1000, 1999, 1000, 1), 0u);
  EXPECT_EQ(CrossedPower(1999, 2000, 1000, 1), 2u);
}

TEST(PowersPassedTest, CountsTheEligibleEventsOfACellThatGrowsByOnes) {
  for (const uint32_t t_log2 : {1u, 2u, 5u}) {
    uint32_t eligible = 0;
    for (uint64_t cell = 0; cell < 20'000; ++cell) {
      if (CrossedPower(cell, cell + 1, 7, t_log2) != 0) ++eligible;
      ASSERT_EQ(PowersPassed(cell + 1, 7, t_log2), eligible);
    }
  }
}

struct Case {
  uint64_t n, others;            // events of the label and of the rest of its cell
  Sampling sampling;             // as it is at the epoch's end
  bool one_cpu = true;           // all events on one CPU, or each on a random one
  double refused = 0;            // of the due events
  uint32_t t_log2_at_first = 0;  // until half of the events have come; 0: the same throughout
  uint64_t heaviest = 1;         // weights are log-uniform from 1 to this
  double heavier = 1;            // the label's events than the others'
  uint32_t duty_log2 = 0;        // 1/2^k of the events are seen, and stand for 2^k times as much
};

struct Event {
  uint64_t weight = 0;
  bool is_mine = false;
};

std::vector<Event> Draw(const Case& c, std::mt19937_64& random) {
  std::uniform_real_distribution<double> log_weight(0, std::log(static_cast<double>(c.heaviest)));
  std::vector<Event> events;
  for (uint64_t i = 0; i < c.n + c.others; ++i) {
    const bool is_mine = i < c.n;
    const double weight = std::exp(log_weight(random)) * (is_mine ? c.heavier : 1);
    events.push_back({static_cast<uint64_t>(std::max(weight, 1.0)), is_mine});
  }
  return events;
}

struct Outcome {
  double missed = 0;   // share of the simulated epochs in which the label got no sample
  double samples = 0;  // of all labels, mean of an epoch
};

// The same events, mixed anew in each epoch.
Outcome Simulate(const Case& c, std::vector<Event> events, int epochs, std::mt19937_64& random) {
  int missed = 0, samples = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::ranges::shuffle(events, random);
    std::vector<uint64_t> cell(c.sampling.cpus, 0);
    bool sampled = false;
    for (size_t i = 0; i < events.size(); ++i) {
      if (random() % (uint64_t{1} << c.duty_log2) != 0) continue;
      const bool at_first = c.t_log2_at_first != 0 && i < events.size() / 2;
      uint64_t& total = cell[c.one_cpu ? 0 : random() % cell.size()];
      const uint64_t before = total;
      total += events[i].weight << c.duty_log2;
      const bool eligible = CrossedPower(before, total, c.sampling.quantum,
                                         at_first ? c.t_log2_at_first : c.sampling.t_log2) != 0;
      if (!eligible || std::uniform_real_distribution<double>()(random) < c.refused) continue;
      ++samples;
      sampled |= events[i].is_mine;
    }
    missed += sampled ? 0 : 1;
  }
  return {static_cast<double>(missed) / epochs, static_cast<double>(samples) / epochs};
}

constexpr int kDraws = 10, kEpochs = 300;
constexpr double kChance = 0.0274;  // three standard deviations of a share of kDraws * kEpochs

struct Compared {
  double stated = 0, missed = 0;
};

// Of several draws of the weights. The chance is stated of what all events weigh, those that were
// not seen too.
Compared Compare(const Case& c, std::mt19937_64& random) {
  Compared mean;
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::vector<Event> events = Draw(c, random);
    uint64_t mine = 0, others = 0;
    for (const Event& event : events) (event.is_mine ? mine : others) += event.weight;
    const Outcome outcome = Simulate(c, events, kEpochs, random);
    const CellGroup load[] = {{mine + others, 1}};
    Sampling sampling = c.sampling;
    sampling.kept = outcome.samples * KeptShare(1, load, sampling);
    mean.stated += MissSpread(mine, others, sampling) / kDraws;
    mean.missed += outcome.missed / kDraws;
  }
  return mean;
}

void ExpectTheStatedMiss(std::span<const Case> cases, std::mt19937_64& random) {
  for (const Case& c : cases) {
    const Compared mean = Compare(c, random);
    EXPECT_NEAR(mean.missed, mean.stated, kChance + 0.01)
        << c.n << " in " << c.others << ", " << c.refused << " refused, t 2^" << c.t_log2_at_first
        << " at first, weights to " << c.heaviest << ", duty 1/2^" << c.duty_log2;
  }
}

TEST(MissSpreadTest, IsTheShareOfMissedLabelsInSimulatedEpochs) {
  std::mt19937_64 random(22);
  const Case cases[] = {
      {.n = 100, .others = 900, .sampling = {1, 1, 1}},
      {.n = 100, .others = 1900, .sampling = {1, 2, 1}},
      {.n = 500, .others = 1500, .sampling = {10, 1, 1}},
      {.n = 50, .others = 4000, .sampling = {4, 1, 1}},
      {.n = 1000, .others = 1000, .sampling = {1, 4, 1}},
      {.n = 100, .others = 3000, .sampling = {1, 1, 4}, .one_cpu = false},
      {.n = 300, .others = 3000, .sampling = {64, 1, 4}, .one_cpu = false},
      {.n = 100, .others = 3000, .sampling = {1, 1, 8}, .one_cpu = true},
      {.n = 100, .others = 900, .sampling = {1, 1, 1}, .refused = 0.7},
      {.n = 100, .others = 3000, .sampling = {1, 1, 4}, .one_cpu = false, .refused = 0.5},
  };
  ExpectTheStatedMiss(cases, random);
}

TEST(MissSpreadTest, HoldsWhereTChangesWithinTheEpoch) {
  std::mt19937_64 random(24);
  const Case cases[] = {
      {.n = 100, .others = 900, .sampling = {1, 2, 1}, .t_log2_at_first = 1},
      {.n = 100, .others = 900, .sampling = {1, 1, 1}, .t_log2_at_first = 2},
      {.n = 300, .others = 3000, .sampling = {1, 8, 1}, .t_log2_at_first = 1},
      {.n = 300, .others = 3000, .sampling = {1, 1, 1}, .t_log2_at_first = 8},
      {.n = 300, .others = 3000, .sampling = {4, 4, 4}, .one_cpu = false, .t_log2_at_first = 1},
  };
  ExpectTheStatedMiss(cases, random);
}

TEST(MissSpreadTest, HoldsForEventsOfManyWeights) {
  std::mt19937_64 random(25);
  const Case cases[] = {
      {.n = 100, .others = 900, .sampling = {1, 1, 1}, .heaviest = 10'000},
      {.n = 300, .others = 900, .sampling = {16, 2, 1}, .heaviest = 10'000},
      {.n = 300, .others = 900, .sampling = {16, 2, 1}, .t_log2_at_first = 1, .heaviest = 10'000},
      {.n = 300, .others = 3000, .sampling = {1024, 1, 1}, .heaviest = 10'000},
      {.n = 300, .others = 3000, .sampling = {64, 1, 4}, .one_cpu = false, .heaviest = 10'000},
  };
  ExpectTheStatedMiss(cases, random);
}

// Below the weight of one event, powers are passed by whoever comes first: more often by the label
// if its events are many and light than by its weight.
TEST(MissSpreadTest, IsTooHighForLighterEventsThanTheOthersAndTooLowForAFewHeavierOnes) {
  std::mt19937_64 random(27);
  const auto too_high = [&](const Case& c) {
    const Compared mean = Compare(c, random);
    return mean.stated - mean.missed;
  };
  Case c{.n = 300, .others = 900, .sampling = {1, 1, 1}, .heaviest = 10'000, .heavier = 0.1};
  EXPECT_GT(too_high(c), 0.2);
  EXPECT_LT(too_high(c), 0.33);
  c.sampling.quantum = 1024;  // of the weight of one event
  EXPECT_LT(too_high(c), 0.07);
  c.n = 30, c.heavier = 10;
  EXPECT_LT(too_high(c), -0.03);
  EXPECT_GT(too_high(c), -0.12);
}

TEST(MissSpreadTest, HoldsWhereEventsAreSeenPartOfTheTimeAndStandForMore) {
  std::mt19937_64 random(26);
  const Case cases[] = {
      {.n = 500, .others = 4500, .sampling = {1, 1, 1}, .duty_log2 = 3},
      {.n = 500, .others = 4500, .sampling = {16, 1, 1}, .duty_log2 = 3},
      {.n = 2000, .others = 2000, .sampling = {16, 2, 1}, .duty_log2 = 3},
      {.n = 1000, .others = 9000, .sampling = {16, 1, 4}, .one_cpu = false, .duty_log2 = 3},
      {.n = 1000, .others = 9000, .sampling = {64, 1, 1}, .heaviest = 10'000, .duty_log2 = 3},
      {.n = 1000,
       .others = 9000,
       .sampling = {64, 2, 1},
       .t_log2_at_first = 1,
       .heaviest = 10'000,
       .duty_log2 = 3},
  };
  ExpectTheStatedMiss(cases, random);
}

TEST(MissSpreadTest, ALabelThatWouldLeadIsDueUntilItIsKept) {
  const Sampling sampling{.kept = 0, .kept_first = 0.5};
  EXPECT_EQ(MissSpread(100, 100, sampling), 1) << "nothing contested was kept";
  EXPECT_LT(MissSpread(101, 100, sampling), 0.2);
  EXPECT_NEAR(MissSpread(7, 0, sampling), 0.125, 1e-9) << "passes 1, 2 and 4";
}

TEST(KeptShareTest, IsSamplesOverPowersPassed) {
  const CellGroup loads[] = {{1000, 2}, {7, 1}};
  EXPECT_DOUBLE_EQ(KeptShare(23, loads, {1, 1, 1}), 1.0);  // 10 each, and 3
  EXPECT_DOUBLE_EQ(KeptShare(23, loads, {1, 1, 2}), 23.0 / (2 * 2 * 9 + 2 * 2));
  EXPECT_DOUBLE_EQ(KeptShare(5, {}, {1, 1, 1}), 1.0);
}

TEST(MissBurstTest, IsTheShareOfMissedBurstsWhenWhatWasThereIsSpreadOverThePowers) {
  std::mt19937_64 random(23);
  for (const double ratio : {0.01, 0.1, 0.5, 0.9, 1.5, 5.0}) {
    for (const uint32_t t_log2 : {1u, 2u, 4u}) {
      constexpr int kRounds = 4000;
      int missed = 0;
      for (int round = 0; round < kRounds; ++round) {
        // log-uniform over whole powers of t
        const double exponent =
            std::uniform_real_distribution<double>(20, 20 + 2.0 * t_log2)(random);
        const auto others = static_cast<uint64_t>(std::exp2(exponent));
        const auto n = static_cast<uint64_t>(ratio * static_cast<double>(others));
        missed += CrossedPower(others, others + n, 1, t_log2) == 0 ? 1 : 0;
      }
      const uint64_t n = static_cast<uint64_t>(ratio * 1e6);
      EXPECT_NEAR(static_cast<double>(missed) / kRounds, MissBurst(n, 1'000'000, {1, t_log2, 1}),
                  3 * std::sqrt(0.25 / kRounds))
          << ratio << " t 2^" << t_log2;
    }
  }
}

TEST(MissTest, OfALabelBelowTheQuantumIsCertain) {
  EXPECT_EQ(MissSpread(10, 20, {100, 1, 1}), 1);
  EXPECT_EQ(MissBurst(10, 20, {100, 1, 1}), 1);
  EXPECT_EQ(MissBurst(50, 60, {100, 1, 1}), 0) << "from below the quantum to above it";
  EXPECT_EQ(MissSpread(0, 1000, {1, 1, 1}), 1);
}

TEST(MissTest, FallsAsTheLabelGrowsAndRisesWithTheQuantumAndT) {
  double previous = 1;
  for (uint64_t n = 1; n < 1'000'000; n *= 2) {
    const double miss = MissSpread(n, 100'000, {16, 1, 1});
    EXPECT_LE(miss, previous);
    EXPECT_GE(MissSpread(n, 100'000, {64, 1, 1}), miss);
    EXPECT_GE(MissSpread(n, 100'000, {16, 3, 1}), miss);
    previous = miss;
  }
  EXPECT_LT(previous, 0.01);
}

TEST(MissTest, TheAverageOverCellsIsTheMeanOfTheirChances) {
  const Sampling sampling{1, 1, 1};
  const CellGroup loads[] = {{1000, 2}, {50'000, 1}};
  const Miss miss = AverageMiss(500, loads, 4, sampling);
  EXPECT_DOUBLE_EQ(miss.spread, (2 * MissSpread(500, 1000, sampling) +
                                 MissSpread(500, 50'000, sampling) + MissSpread(500, 0, sampling)) /
                                    4);
  EXPECT_DOUBLE_EQ(miss.burst,
                   (2 * MissBurst(500, 1000, sampling) + MissBurst(500, 50'000, sampling) + 0) / 4);
  EXPECT_EQ(AverageMiss(500, loads, 0, sampling).spread, 1);
}

// Design figure: at 2,000 labels a label that weighs at least the mean cell load is practically
// never missed.
TEST(MissTest, ALabelAsHeavyAsTheMeanCellIsMissedInUnderThreeOfAThousandEpochs) {
  EXPECT_LT(MissSpread(2000, 2000, {1, 1, 1}), 0.003);
}

}  // namespace
}  // namespace telltale::sketch
