// How often what gets dearer with the host's tasks may be done.

#include "agent/sensor/cost_pace.h"

#include <gtest/gtest.h>

namespace telltale::agent {
namespace {

constexpr double kShare = 0.001;  // of a CPU

TEST(CostPaceTest, WhatGotDearIsDoneLessOftenFromTheNextTimeOn) {
  CostPace pace(kShare, 0.1, 100);
  pace.Took(0.2 * kNsPerMs);
  EXPECT_DOUBLE_EQ(pace.interval_s(), 0.2);
  pace.Took(25.0 * kNsPerMs);
  EXPECT_DOUBLE_EQ(pace.interval_s(), 25);
}

TEST(CostPaceTest, OneCheapTimeIsNotBelievedButManyAre) {
  CostPace pace(kShare, 0.1, 100);
  pace.Took(25.0 * kNsPerMs);
  pace.Took(0);
  EXPECT_DOUBLE_EQ(pace.interval_s(), 20);
  for (int i = 0; i < 30; ++i) pace.Took(0);
  EXPECT_DOUBLE_EQ(pace.interval_s(), 0.1);
}

TEST(CostPaceTest, ItIsDoneOnceInAWhileHoweverDear) {
  CostPace pace(kShare, 0.1, 10);
  pace.Took(3'000.0 * kNsPerMs);
  EXPECT_DOUBLE_EQ(pace.interval_s(), 10);
}

TEST(CostPaceTest, WithoutAShareAsOftenAsMayBe) {
  CostPace pace(0, 0.1, 10);
  pace.Took(3'000.0 * kNsPerMs);
  EXPECT_DOUBLE_EQ(pace.interval_s(), 0.1);
}

}  // namespace
}  // namespace telltale::agent
