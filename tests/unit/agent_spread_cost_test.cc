// What the agent does in bursts neither blinds the sensor while it is done nor is left out of what
// the agent takes.

#include "agent/governor/spread_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "agent/governor/governor.h"
#include "agent/governor/parts.h"

namespace telltale::agent {
namespace {

constexpr double kTick = 0.1;

TEST(SpreadCostTest, AllOfItIsToldInTheEnd) {
  SpreadCost cost;
  cost.Add(600e6);
  cost.Add(400e6);
  double told = 0;
  for (int i = 0; i < 1'000; ++i) told += cost.Tell(kTick, 300);
  EXPECT_NEAR(told, 1e9 * (1 - std::exp(-1.0 / 3)), 1e6);
  told += cost.Tell(20 * 300, 300);
  EXPECT_NEAR(told, 1e9, 10);
}

TEST(SpreadCostTest, WhereItNeverEndsItIsInEachSecond) {
  SpreadCost cost;
  double told = 0;
  for (int i = 0; i < 20'000; ++i) {
    cost.Add(3e6);
    told = cost.Tell(kTick, 300);
  }
  EXPECT_NEAR(told, 3e6, 1e4);
}

// Of two CPUs at 1 % a start that takes 600 ms is 30 s of the budget.
TEST(SpreadCostTest, AStartTakesNothingOffItsHooks) {
  Governor governor({.budget = 0.01, .cpus = 2});
  SpreadCost once;
  double now = 1;
  for (int i = 0; i < 600; ++i, now += kTick) {
    if (i < 20) once.Add(30e6);
    GovernorReading reading;
    reading.mono_ns = static_cast<uint64_t>(now * 1e9);
    reading.full_ns[Index(Part::kFault)] = 8e6 * kTick;
    reading.full_ns[Index(Part::kUnwinding)] = 4e6 * kTick;
    reading.full_ns[Index(Part::kRest)] = 4e6 * kTick + once.Tell(kTick, 300);
    ASSERT_TRUE(governor.Update(reading).steps.empty()) << "after " << i * kTick << " s";
  }
}

}  // namespace
}  // namespace telltale::agent
