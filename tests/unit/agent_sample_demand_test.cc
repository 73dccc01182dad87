// How many more samples there would be without limits, by those that were refused.

#include "agent/governor/sample_demand.h"

#include <gtest/gtest.h>

#include "agent/governor/parts.h"

namespace telltale::agent {
namespace {

constexpr double kTick = 0.1;

TEST(SampleDemandTest, WhereNoneIsRefusedThereAreNoMoreAtAnyLevelOfTokens) {
  SampleDemand demand;
  for (int i = 0; i < 100; ++i) demand.Learn(kTick, 1, 0);
  EXPECT_EQ(demand.Growth(0), 1);
  EXPECT_EQ(demand.Growth(kTokenLevels), 1);
}

TEST(SampleDemandTest, WhereManyAreRefusedEachLevelTakenBackDoublesThem) {
  SampleDemand demand;
  for (int i = 0; i < 100; ++i) demand.Learn(kTick, 1, 1000);
  EXPECT_EQ(demand.Growth(0), 1);
  EXPECT_EQ(demand.Growth(3), 8);
}

TEST(SampleDemandTest, WhereFewAreRefusedThoseComeToIt) {
  SampleDemand demand;
  for (int i = 0; i < 100; ++i) demand.Learn(kTick, 2, 1);
  EXPECT_NEAR(demand.Growth(3), 1.5, 1e-9);
}

TEST(SampleDemandTest, WhatAHigherPowerLeavesOutIsNotRefusedAndReckonedAsHalf) {
  SampleDemand demand;
  for (int i = 0; i < 100; ++i) demand.Learn(kTick, 1, 0);
  EXPECT_EQ(demand.Growth(kTokenLevels + 2), 4);
}

TEST(SampleDemandTest, AStormIsForgottenWithinAMinute) {
  SampleDemand demand;
  for (int i = 0; i < 100; ++i) demand.Learn(kTick, 10, 100'000);
  for (int i = 0; i < 1000; ++i) demand.Learn(kTick, 1, 0);
  EXPECT_LT(demand.Growth(kTokenLevels), 1.5);
}

}  // namespace
}  // namespace telltale::agent
