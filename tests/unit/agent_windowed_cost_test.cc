// The cost of programs that are on their hooks for windows, with the governor that has them so.

#include "agent/governor/windowed_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "agent/governor/governor.h"
#include "agent/governor/parts.h"

namespace telltale::agent {
namespace {

constexpr double kTick = 0.1, kPeriodS = 10;

// A host of two CPUs whose faults would take a share of them, and whose agent takes 0.2 % else.
class Faults {
 public:
  explicit Faults(bool windowed, double calm_s = 30)
      : windowed_(windowed), governor_({.budget = 0.01, .cpus = 2, .calm_s = calm_s}) {}

  void Run(double share, double seconds) {
    for (int i = 0; i < seconds / kTick; ++i, now_ += kTick) {
      const uint8_t level = governor_.level(Part::kFault);
      const bool attached = std::fmod(now_, kPeriodS) < std::ldexp(kPeriodS, -level);
      const double seen_ns = attached ? std::ldexp(share * 2e9 * kTick, level) : 0;
      GovernorReading reading;
      reading.mono_ns = static_cast<uint64_t>(now_ * 1e9);
      const double told_ns = cost_.Tell(seen_ns, kTick, level, kPeriodS);
      reading.full_ns[Index(Part::kFault)] = windowed_ ? told_ns : seen_ns;
      reading.full_ns[Index(Part::kRest)] = 4e6 * kTick;
      steps_ += governor_.Update(reading).steps.size();
      taken_ns_ += std::ldexp(told_ns, -governor_.level(Part::kFault));
      if (attached) cost_ns_ += share * 2e9 * kTick;
    }
  }
  uint8_t level() const { return governor_.level(Part::kFault); }
  size_t steps() const { return steps_; }
  double taken_ns() const { return taken_ns_; }  // as it is told
  double cost_ns() const { return cost_ns_; }    // as it is

 private:
  const bool windowed_;
  Governor governor_;
  WindowedCost cost_;
  double now_ = 1;
  size_t steps_ = 0;
  double taken_ns_ = 0, cost_ns_ = 0;
};

// Of 2 % a quarter of the time fits into what the rest leaves.
TEST(WindowedCostTest, AWindowOfAPartOfTheTimeIsNoStorm) {
  Faults windowed(true), as_they_come(false);
  windowed.Run(0.02, 300);
  EXPECT_LE(windowed.level(), 2);
  as_they_come.Run(0.02, 300);
  EXPECT_GE(as_they_come.level(), 3);
}

TEST(WindowedCostTest, WhatIsToldIsWhatItCosts) {
  Faults faults(true);
  faults.Run(0.02, 3'000);
  EXPECT_NEAR(faults.taken_ns(), faults.cost_ns(), 0.05 * faults.cost_ns());
}

// Before the first window nothing is seen, which is not nothing.
TEST(WindowedCostTest, AStormIsNotForgottenBetweenItsWindows) {
  Faults faults(true, /*calm_s=*/1);
  faults.Run(0.1, 3);
  const uint8_t level = faults.level();
  EXPECT_GE(level, 4);
  faults.Run(0.1, 6);
  EXPECT_GE(faults.level(), level - 1);
}

TEST(WindowedCostTest, WhatWindowsTookDoesNotPushAPartBackThatReturned) {
  Faults faults(true);
  faults.Run(0.04, 300);
  EXPECT_GE(faults.level(), 2);
  const size_t before = faults.steps();
  faults.Run(0.003, 300);
  EXPECT_EQ(faults.level(), 0);
  EXPECT_LE(faults.steps() - before, 3u);
}

}  // namespace
}  // namespace telltale::agent
