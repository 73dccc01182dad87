// What the agent does once neither blinds the sensor while it is done nor is left out of what the
// agent takes.

#include "agent/governor/once_cost.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "agent/governor/governor.h"
#include "agent/governor/parts.h"

namespace telltale::agent {
namespace {

constexpr double kTick = 0.1;

TEST(OnceCostTest, AllOfItIsToldInTheEnd) {
  OnceCost once;
  once.Add(600e6);
  once.Add(400e6);
  double told = 0;
  for (int i = 0; i < 40'000; ++i) told += once.Tell(kTick);
  EXPECT_NEAR(told, 1e9, 1e4);
  EXPECT_LT(once.Tell(kTick), 10);
}

TEST(OnceCostTest, WhereItNeverEndsItIsInEachSecond) {
  OnceCost once;
  double told = 0;
  for (int i = 0; i < 20'000; ++i) {
    once.Add(3e6);
    told = once.Tell(kTick);
  }
  EXPECT_NEAR(told, 3e6, 1e4);
}

// Of two CPUs at 1 % a start that takes 600 ms is 30 s of the budget.
TEST(OnceCostTest, AStartTakesNothingOffItsHooks) {
  Governor governor({.budget = 0.01, .cpus = 2});
  OnceCost once;
  double now = 1;
  for (int i = 0; i < 600; ++i, now += kTick) {
    if (i < 20) once.Add(30e6);
    GovernorReading reading;
    reading.mono_ns = static_cast<uint64_t>(now * 1e9);
    reading.full_ns[Index(Part::kFault)] = 8e6 * kTick;
    reading.full_ns[Index(Part::kUnwinding)] = 4e6 * kTick;
    reading.full_ns[Index(Part::kRest)] = 4e6 * kTick + once.Tell(kTick);
    ASSERT_TRUE(governor.Update(reading).steps.empty()) << "after " << i * kTick << " s";
  }
}

}  // namespace
}  // namespace telltale::agent
