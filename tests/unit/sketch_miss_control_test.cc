// A curve corrected by its control group.
#include "sketch/miss_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace telltale::sketch {
namespace {

// Weights 1..4096, light ones more often.
uint64_t Weight(std::mt19937_64& random) {
  return uint64_t{1} << random() % 12 | (random() & 0xfff) >> random() % 12;
}

std::vector<ExactLabel> Group(size_t labels, const MissCurve& truth, std::mt19937_64& random) {
  std::vector<ExactLabel> group;
  for (size_t i = 0; i < labels; ++i) {
    const uint64_t weight = Weight(random);
    group.push_back({weight, std::uniform_real_distribution<double>()(random) < truth.At(weight)});
  }
  return group;
}

const MissCurve kTruth{0,
                       {0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.4, 0.2, 0.05, 0.01, 0.002, 1e-4, 1e-5}};
const MissCurve kTooHigh{0,
                         {0.99, 0.98, 0.97, 0.96, 0.93, 0.9, 0.8, 0.6, 0.3, 0.1, 0.02, 1e-3, 1e-5}};
const MissCurve kTooLow{0,
                        {0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.15, 0.06, 0.01, 1e-3, 1e-4, 1e-5, 1e-6}};

// What the group is for: of those for whom the curve states about s, the share s is missed.
TEST(MissControlTest, WhatIsStatedIsWhatHappensWhereTheGroupHasLabels) {
  std::mt19937_64 random(7);
  for (const MissCurve& from : {kTooHigh, kTooLow, kTruth}) {
    const MissCurve curve = Corrected(from, Group(20'000, kTruth, random));
    double stated[5] = {}, happens[5] = {}, labels[5] = {};
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t weight = Weight(random);
      const auto bin = static_cast<size_t>(std::min(curve.At(weight) * 5, 4.0));
      stated[bin] += curve.At(weight);
      happens[bin] += kTruth.At(weight);
      ++labels[bin];
    }
    for (size_t bin = 0; bin < 5; ++bin) {
      EXPECT_NEAR(stated[bin] / labels[bin], happens[bin] / labels[bin], 0.03)
          << bin << " from " << from.miss[4];
    }
  }
}

TEST(MissControlTest, WithoutAGroupItIsTheCurveAndFewLabelsMoveItLittle) {
  std::mt19937_64 random(8);
  const MissCurve none = Corrected(kTruth, {});
  ASSERT_EQ(none.miss.size(), kTruth.miss.size());
  for (size_t i = 0; i < none.miss.size(); ++i) EXPECT_NEAR(none.miss[i], kTruth.miss[i], 1e-6);
  // Of labels hardly ever missed, that none of ten was is no news.
  const MissCurve few = Corrected(kTruth, std::vector<ExactLabel>(10, {512, false}));
  EXPECT_NEAR(few.At(512), kTruth.At(512), 0.004);
}

TEST(MissControlTest, GoesOnFallingWhateverTheGroupSays) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 200; ++round) {
    std::vector<ExactLabel> group;
    for (uint64_t i = 0, labels = random() % 60; i < labels; ++i) {
      group.push_back({Weight(random) >> random() % 3, random() % 2 == 0});
    }
    const MissCurve curve = Corrected(round % 2 == 0 ? kTooHigh : kTooLow, group);
    EXPECT_TRUE(std::ranges::is_sorted(curve.miss, std::ranges::greater())) << round;
    EXPECT_LE(curve.miss.front(), 1);
    EXPECT_GE(curve.miss.back(), 0);
  }
}

TEST(MissControlTest, AGroupThatWasSeenPartOfTheTimeOnlyRaises) {
  std::mt19937_64 random(10);
  const std::vector<ExactLabel> group = Group(5'000, kTruth, random);
  const MissCurve raised = CorrectedUpwards(kTooLow, group);
  EXPECT_NEAR(raised.At(64), Corrected(kTooLow, group).At(64), 1e-9);
  EXPECT_GT(raised.At(64), kTooLow.At(64) + 0.1);
  const MissCurve kept = CorrectedUpwards(kTooHigh, group);
  for (size_t i = 0; i < kept.miss.size(); ++i) EXPECT_GE(kept.miss[i], kTooHigh.miss[i]);
  EXPECT_TRUE(std::ranges::is_sorted(kept.miss, std::ranges::greater()));
}

TEST(MissControlTest, LabelsLighterThanTheCurveHaveNoSay) {
  const MissCurve from{4, {0.9, 0.5, 0.1}};
  const MissCurve curve = Corrected(from, std::vector<ExactLabel>(100, {15, true}));
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(curve.miss[i], from.miss[i], 1e-9);
  EXPECT_TRUE(Corrected({}, std::vector<ExactLabel>(5, {7, true})).miss.empty());
}

}  // namespace
}  // namespace telltale::sketch
