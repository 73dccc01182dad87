// The formulas of log-sampling against exact counts of simulated epochs.
#include "sketch/log_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
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

enum class Arrival { kMixed, kBurst };

struct Case {
  uint64_t n, others;  // unit events of the label and of the rest of its cell
  Sampling sampling;
  bool one_cpu = true;  // all events on one CPU, or each on a random one
  double refused = 0;   // of the due events
};

struct Outcome {
  double missed = 0;   // share of the simulated epochs in which the label got no sample
  double samples = 0;  // of all labels, mean of an epoch
};

Outcome Simulate(const Case& c, Arrival arrival, int rounds, std::mt19937_64& random) {
  int missed = 0, samples = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<uint64_t> cell(c.sampling.cpus, 0);
    uint64_t mine = c.n, rest = c.others;
    bool sampled = false;
    const auto count = [&](uint64_t weight, bool is_mine) {
      uint64_t& mine_or_any = cell[c.one_cpu ? 0 : random() % cell.size()];
      const bool eligible = CrossedPower(mine_or_any, mine_or_any + weight, c.sampling.quantum,
                                         c.sampling.t_log2) != 0;
      mine_or_any += weight;
      if (!eligible || std::uniform_real_distribution<double>()(random) < c.refused) return;
      ++samples;
      sampled |= is_mine;
    };
    if (arrival == Arrival::kBurst) {
      count(rest, false);
      count(mine, true);
    } else {
      while (mine + rest > 0) {
        const bool is_mine = random() % (mine + rest) < mine;
        count(1, is_mine);
        --(is_mine ? mine : rest);
      }
    }
    missed += sampled ? 0 : 1;
  }
  return {static_cast<double>(missed) / rounds, static_cast<double>(samples) / rounds};
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
  constexpr int kRounds = 3000;
  for (const Case& c : cases) {
    const Outcome outcome = Simulate(c, Arrival::kMixed, kRounds, random);
    const CellGroup load[] = {{c.n + c.others, 1}};
    Sampling sampling = c.sampling;
    sampling.kept = outcome.samples * KeptShare(1, load, sampling);
    EXPECT_NEAR(outcome.missed, MissSpread(c.n, c.others, sampling),
                3 * std::sqrt(0.25 / kRounds) + 0.01)
        << c.n << " in " << c.others << ", " << c.refused << " refused";
  }
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
