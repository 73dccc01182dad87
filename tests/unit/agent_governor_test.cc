// The governor against simulated hosts: what each part costs is a function of time, and what it
// does cost follows from the levels it was turned to.

#include "agent/governor/governor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace telltale::agent {
namespace {

constexpr double kTick = 0.1;

// CPU seconds a second that each part takes at level 0, by time.
using Load = std::function<PerPart<double>(double seconds)>;

PerPart<double> Parts(std::initializer_list<std::pair<Part, double>> costs) {
  PerPart<double> all{};
  for (const auto& [part, cost] : costs) all[Index(part)] = cost;
  return all;
}

class Host {
 public:
  explicit Host(GovernorOptions options) : options_(options), governor_(options) {}

  // CPU seconds a second that taking one part's programs off and on takes, and these when they are
  // to count nothing.
  double cycling = 0, unseen = 0;
  bool known_while_detached = true;
  double told_while_detached = 1;                // share of the load that is known then
  std::function<double(double seconds)> paid;    // of kRest, what was spent before
  std::function<double(double seconds)> wanted;  // samples, as a share of level 0's tokens
  bool tells_refused = true;

  // Runs until `end` and returns the CPU seconds the agent took meanwhile.
  double Run(const Load& load, double end) {
    double spent = 0;
    for (; now_ < end; now_ += kTick) {
      const PerPart<double> costs = load(now_);
      GovernorReading reading;
      reading.mono_ns = static_cast<uint64_t>((now_ + 1) * 1e9);
      for (size_t i = 0; i < kParts; ++i) {
        double cost = costs[i] * kTick;
        const uint8_t samples = governor_.level(Part::kSamples);
        // Fewer samples have fewer stacks; a sample is worth 2^level of those at level 0.
        if (i == Index(Part::kUnwinding)) cost *= Taken(now_, samples);
        if (i == Index(Part::kSamples)) cost *= std::ldexp(Taken(now_, samples), samples);
        reading.full_ns[i] = cost * 1e9;
        if (governor_.detached()) reading.full_ns[i] *= told_while_detached;
        const auto part = static_cast<Part>(i);
        if (IsCycled(part) && governor_.level(part) > 0) {
          reading.cycling_ns += (cycling + unseen) * kTick * 1e9;
          reading.unseen_ns += unseen * kTick * 1e9;
        }
        if (!governor_.detached()) {
          spent += Governor::Cost(part, governor_.level(part), cost);
        }
      }
      if (wanted && tells_refused)
        reading.sample_growth = 1 / Taken(now_, governor_.level(Part::kSamples));
      reading.known = !governor_.detached() || known_while_detached;
      if (paid) reading.paid_ns = paid(now_) * kTick * 1e9;
      const GovernorDecision decision = governor_.Update(reading);
      for (const GovernorStep& step : decision.steps) {
        steps_.push_back({now_, step});
      }
      if (decision.detached) detached_.push_back(now_);
    }
    return spent;
  }

  struct Stepped {
    double at;
    GovernorStep step;
  };
  const std::vector<Stepped>& steps() const { return steps_; }
  const std::vector<double>& detached() const { return detached_; }
  const Governor& governor() const { return governor_; }
  double budget() const { return options_.budget * options_.cpus; }

 private:
  // Share of the samples of level 0 that are taken at this one.
  double Taken(double at, uint8_t level) const {
    const double due = wanted ? wanted(at) : 1;
    return std::min(std::ldexp(1.0, -level), due) / due;
  }

  const GovernorOptions options_;
  Governor governor_;
  double now_ = 0;
  std::vector<Stepped> steps_;
  std::vector<double> detached_;
};

GovernorOptions TwoCpus() {
  GovernorOptions options;
  options.budget = 0.01;
  options.cpus = 2;
  return options;
}

TEST(Governor, LeavesALoadAloneThatFits) {
  Host host(TwoCpus());
  host.Run([](double) { return Parts({{Part::kSwitch, 0.012}, {Part::kRest, 0.004}}); }, 300);
  EXPECT_TRUE(host.steps().empty());
}

TEST(Governor, HoldsAStormToTheBudgetFromTheFirstSecondsOn) {
  Host host(TwoCpus());
  // A million system calls a second on each CPU, and their samples.
  const Load storm = [](double) {
    return Parts({{Part::kSyscall, 0.08}, {Part::kSamples, 0.005}, {Part::kRest, 0.002}});
  };
  const double first_ten = host.Run(storm, 10);
  EXPECT_LE(first_ten, 1.2 * host.budget() * 10);
  const double next = host.Run(storm, 70);
  EXPECT_LE(next, host.budget() * 60);
  ASSERT_FALSE(host.steps().empty());
  EXPECT_LE(host.steps().front().at, 1.0);
  // The largest part pays, the others are seen as before.
  EXPECT_EQ(host.governor().level(Part::kSamples), 0);
  EXPECT_EQ(host.governor().level(Part::kSwitch), 0);
  EXPECT_GE(host.governor().level(Part::kSyscall), 2);
}

TEST(Governor, AfterHalfAMinuteOfCalmEverythingThatFitsIsSeenAgain) {
  Host host(TwoCpus());
  const Load storm = [](double at) {
    const bool stormy = at < 20;
    return Parts({{Part::kSyscall, stormy ? 0.3 : 0.001},
                  {Part::kSwitch, stormy ? 0.3 : 0.001},
                  {Part::kSamples, stormy ? 0.5 : 0.003},
                  {Part::kUnwinding, stormy ? 0.5 : 0.001},
                  {Part::kRest, 0.002}});
  };
  host.Run(storm, 20);
  const Part turned[] = {Part::kSyscall, Part::kSwitch, Part::kSamples, Part::kUnwinding};
  for (const Part part : turned) ASSERT_EQ(host.governor().level(part), MaxLevel(part));
  ASSERT_TRUE(host.governor().detached());
  constexpr double kDetached = 30;  // until the host has been calm for so long
  host.Run(storm, 20 + kDetached + 5);
  EXPECT_EQ(host.governor().level(Part::kSamples), MaxLevel(Part::kSamples)) << "not too early";
  host.Run(storm, 20 + kDetached + 15);
  for (const Part part : turned) EXPECT_EQ(host.governor().level(part), 0) << PartName(part);
}

TEST(Governor, OfWhatDoesNotFitAsMuchIsSeenAsDoes) {
  Host host(TwoCpus());
  // 14 ms a second are comfortable: all but an eighth of 56 ms is let go, for good.
  const Load less = [](double at) {
    return Parts({{Part::kSamples, at < 20 ? 0.9 : 0.056}, {Part::kRest, 0.002}});
  };
  host.Run(less, 20);
  ASSERT_EQ(host.governor().level(Part::kSamples), MaxLevel(Part::kSamples));
  const double spent = host.Run(less, 300);
  EXPECT_EQ(host.governor().level(Part::kSamples), 3);
  EXPECT_LE(spent, host.budget() * 280);
}

TEST(Governor, WhatHadToBeTurnedDownAgainAtOnceComesBackStepByStep) {
  Host host(TwoCpus());
  // It looks calm for longer than half a minute, and is not.
  const Load relapsing = [](double at) {
    const bool storm = at < 20 || (at > 70 && at < 75);
    return Parts({{Part::kSyscall, storm ? 0.3 : 0.001}, {Part::kSamples, storm ? 0.2 : 0.001}});
  };
  host.Run(relapsing, 65);
  ASSERT_EQ(host.governor().level(Part::kSamples), 0);
  host.Run(relapsing, 75);
  const uint8_t turned = host.governor().level(Part::kSamples);
  ASSERT_GE(turned, 3);
  const size_t steps = host.steps().size();
  host.Run(relapsing, 75 + 35.0 * turned + 20);
  EXPECT_EQ(host.governor().level(Part::kSamples), 0);
  double last = host.steps()[steps - 1].at;
  for (size_t i = steps; i < host.steps().size(); ++i) {
    if (host.steps()[i].step.part != Part::kSamples) continue;
    EXPECT_EQ(host.steps()[i].step.from, host.steps()[i].step.to + 1);
    EXPECT_GE(host.steps()[i].at - last, 29.9) << "step " << i;
    last = host.steps()[i].at;
  }
}

TEST(Governor, WhatGetsCalmLaterDoesNotWaitForWhatWentBackBefore) {
  Host host(TwoCpus());
  const Load storms = [](double at) {
    return Parts({{Part::kSyscall, at < 20 ? 0.3 : 0.0005},
                  {Part::kSwitch, at < 25 ? 0.03 : 0.0005},
                  {Part::kRest, 0.002}});
  };
  host.Run(storms, 58);
  ASSERT_EQ(host.governor().level(Part::kSyscall), 0);
  ASSERT_GT(host.governor().level(Part::kSwitch), 0);
  host.Run(storms, 76);
  EXPECT_EQ(host.governor().level(Part::kSwitch), 0);
}

TEST(Governor, WhatFitsTogetherComesBackTogether) {
  Host host(TwoCpus());
  const Load storm = [](double at) {
    const double each = at < 20 ? 0.2 : 0.0005;
    return Parts({{Part::kSyscall, each}, {Part::kFault, each}, {Part::kPages, each}});
  };
  host.Run(storm, 20);
  const int most = host.governor().level(Part::kSyscall);
  ASSERT_GE(most, 4);
  host.Run(storm, 20 + 31.0 * most + 10);
  for (const Part part : {Part::kSyscall, Part::kFault, Part::kPages}) {
    EXPECT_EQ(host.governor().level(part), 0) << PartName(part);
  }
}

// A load that comes and goes must not make the governor swing with it.
TEST(Governor, GivesSamplesForUserStacksWhereThereIsNoRoomForAll) {
  Host host(TwoCpus());
  // Tables are built at the start; later stacks take little, and the rest all but fills the budget.
  const Load busy = [](double at) {
    return Parts({{Part::kUnwinding, at < 5 ? 0.06 : 0.002},
                  {Part::kSamples, 0.007},
                  {Part::kRest, 0.0095}});
  };
  host.Run(busy, 5);
  ASSERT_EQ(host.governor().level(Part::kUnwinding), kUnwindNone);
  const double spent = host.Run(busy, 300);
  EXPECT_LT(host.governor().level(Part::kUnwinding), kUnwindNone);
  EXPECT_EQ(host.governor().level(Part::kSamples), 1);
  EXPECT_LE(spent, host.budget() * 295);
}

TEST(Governor, TakesBackUserStacksThatTakeNextToNothingWhereLittleRoomIsLeft) {
  Host host(TwoCpus());
  // All else takes 0.71 % of the host; tables of many programs are built, then there are few
  // stacks.
  const Load builds = [](double at) {
    return Parts({{Part::kUnwinding, at < 10 ? 0.1 : 0.0005}, {Part::kRest, 0.0142}});
  };
  host.Run(builds, 20);
  ASSERT_EQ(host.governor().level(Part::kUnwinding), kUnwindNone);
  const double spent = host.Run(builds, 120);
  EXPECT_EQ(host.governor().level(Part::kUnwinding), 0);
  EXPECT_LE(spent, host.budget() * 100);
  const size_t steps = host.steps().size();
  host.Run(builds, 600);
  EXPECT_EQ(host.steps().size(), steps);
}

TEST(Governor, LeavesOffWhatIsNotSmallWhereLittleRoomIsLeft) {
  Host host(TwoCpus());
  const Load tight = [](double at) {
    return Parts({{Part::kSwitch, at < 10 ? 0.05 : 0.0055}, {Part::kRest, 0.0132}});
  };
  host.Run(tight, 600);
  EXPECT_EQ(host.governor().level(Part::kSwitch), kSwitchCount);
}

TEST(Governor, KeepsUserStacksOfFewerSamplesWhileTheyFit) {
  Host host(TwoCpus());
  const Load busy = [](double at) {
    const double swing = 1 + 0.2 * std::sin(at);
    return Parts(
        {{Part::kUnwinding, 0.03 * swing}, {Part::kSamples, 0.007 * swing}, {Part::kRest, 0.0095}});
  };
  const double spent = host.Run(busy, 600);
  for (const auto& stepped : host.steps()) {
    EXPECT_FALSE(stepped.step.part == Part::kUnwinding && stepped.step.to == kUnwindNone)
        << stepped.at;
  }
  EXPECT_EQ(host.governor().level(Part::kSamples), 2);
  EXPECT_LE(spent, host.budget() * 600);
}

TEST(Governor, KeepsSamplesWhereUserStacksOfAQuarterWouldTakeMore) {
  Host host(TwoCpus());
  const Load dear = [](double) {
    return Parts({{Part::kUnwinding, 0.06}, {Part::kSamples, 0.007}, {Part::kRest, 0.0095}});
  };
  host.Run(dear, 300);
  EXPECT_EQ(host.governor().level(Part::kUnwinding), kUnwindNone);
  EXPECT_EQ(host.governor().level(Part::kSamples), 0);
}

TEST(Governor, ComesBackAlthoughWhatItWritesEveryFewSecondsTakesMoreThanASecondOfBudget) {
  Host host(TwoCpus());
  const Load storm_then_drafts = [](double at) {
    const bool draft = std::fmod(at, 5) < kTick / 2 || std::fmod(at, 5) > 5 - kTick / 2;
    return Parts({{Part::kSyscall, at < 20 ? 0.3 : 0.001}, {Part::kRest, draft ? 0.18 : 0.002}});
  };
  host.Run(storm_then_drafts, 20);
  const uint8_t turned = host.governor().level(Part::kSyscall);
  ASSERT_GE(turned, 4);
  host.Run(storm_then_drafts, 20 + 45 + 32.0 * turned);
  EXPECT_EQ(host.governor().level(Part::kSyscall), 0);
}

TEST(Governor, ComesBackAlthoughTakingProgramsOffAndOnTakesWhatTheyNeed) {
  Host host(TwoCpus());
  host.cycling = 0.002;
  const Load storm = [](double at) {
    const double most = at < 20 ? 0.1 : 0.0005;
    return Parts({{Part::kSyscall, most},
                  {Part::kFault, most},
                  {Part::kPages, most},
                  {Part::kSocket, most},
                  {Part::kSignal, most},
                  {Part::kLock, most},
                  {Part::kRest, 0.007}});
  };
  host.Run(storm, 20);
  ASSERT_GE(host.governor().level(Part::kSyscall), 4);
  ASSERT_GE(host.governor().level(Part::kLock), 4);
  host.Run(storm, 300);
  EXPECT_EQ(host.governor().level(Part::kSyscall), 0);
  EXPECT_EQ(host.governor().level(Part::kLock), 0);
}

TEST(Governor, TakesNothingOffAndOnToSaveLessThanThatCosts) {
  GovernorOptions options = TwoCpus();
  options.cycling_ns = 0.001 * 1e9;
  Host host(options);
  host.cycling = 0.001;
  host.Run(
      [](double) {
        return Parts({{Part::kSyscall, 0.3}, {Part::kSignal, 0.001}, {Part::kRest, 0.014}});
      },
      20);
  EXPECT_GE(host.governor().level(Part::kSyscall), 4);
  EXPECT_EQ(host.governor().level(Part::kSignal), 0);
}

TEST(Governor, IsNotSwungByALoadThatSwitchesEverySevenSeconds) {
  Host host(TwoCpus());
  const Load swinging = [](double at) {
    const bool busy = static_cast<int>(at / 7) % 2 == 0;
    return Parts({{Part::kSyscall, busy ? 0.2 : 0.0001},
                  {Part::kSwitch, busy ? 0.1 : 0.0001},
                  {Part::kRest, 0.002}});
  };
  host.Run(swinging, 30);
  const size_t steps = host.steps().size();
  ASSERT_GE(steps, 2u);
  const double spent = host.Run(swinging, 30 + 600);
  EXPECT_EQ(host.steps().size(), steps) << "at " << host.steps().back().at << " s";
  EXPECT_LE(spent, host.budget() * 600);
}

TEST(Governor, TurnsDownWhatIsLargestAtTheTime) {
  for (const Part part : {Part::kFault, Part::kSocket, Part::kLock, Part::kSwitch, Part::kSamples,
                          Part::kUnwinding}) {
    Host host(TwoCpus());
    host.Run([part](double) { return Parts({{part, 0.03}, {Part::kRest, 0.001}}); }, 30);
    ASSERT_FALSE(host.steps().empty()) << PartName(part);
    for (const auto& stepped : host.steps()) EXPECT_EQ(stepped.step.part, part);
  }
}

TEST(Governor, TheContextSwitchIsNeverWatchedPartOfTheTime) {
  EXPECT_FALSE(IsCycled(Part::kSwitch));
  EXPECT_EQ(MaxLevel(Part::kSwitch), kSwitchCount);
}

TEST(Governor, DetachesWhenNothingIsLeftAndTriesAgainEachTimeLater) {
  Host host(TwoCpus());
  const Load hopeless = [](double) { return Parts({{Part::kRest, 0.1}}); };
  const double spent = host.Run(hopeless, 1200);
  ASSERT_GE(host.detached().size(), 4u);
  const double first_pause = host.detached()[1] - host.detached()[0];
  const double second_pause = host.detached()[3] - host.detached()[2];
  EXPECT_NEAR(first_pause, 60, 1);
  EXPECT_NEAR(second_pause, 120, 1);
  EXPECT_LT(spent, 1.2 * host.budget() * 1200);
}

TEST(Governor, WhatProgramsWouldTakeIsNotBookedWhileTheyAreTakenOff) {
  GovernorReading reading;
  reading.full_ns.fill(1'000'000);
  reading.cycling_ns = 500'000;
  Host host(TwoCpus());
  const PerPart<double> attached = host.governor().Taken(reading);
  for (size_t i = 0; i < kParts; ++i) {
    EXPECT_EQ(attached[i], i == Index(Part::kRest) ? 1'500'000 : 1'000'000) << i;
  }
  const Load hopeless = [](double) { return Parts({{Part::kRest, 0.1}, {Part::kSwitch, 0.1}}); };
  for (double end = 1; host.detached().empty(); ++end) host.Run(hopeless, end);
  ASSERT_TRUE(host.governor().detached());
  const PerPart<double> detached = host.governor().Taken(reading);
  for (size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    if (IsInKernel(part)) {
      EXPECT_EQ(detached[i], 0) << i;
    } else {  // the agent goes on, with what came before and what the host tells
      EXPECT_EQ(detached[i], Governor::Cost(part, host.governor().level(part), 1'000'000) +
                                 (part == Part::kRest ? reading.cycling_ns : 0))
          << i;
    }
  }
}

TEST(Governor, ComesBackHalfAMinuteAfterTheHostIsCalmHoweverLongThePauseHadGrown) {
  Host host(TwoCpus());
  const Load storm = [](double at) {
    return Parts({{Part::kSwitch, at < 3600 ? 1.0 : 0.001}, {Part::kRest, 0.002}});
  };
  host.Run(storm, 3600);
  ASSERT_GE(host.detached().size(), 5u);
  const size_t before = host.detached().size();
  ASSERT_TRUE(host.governor().detached());
  host.Run(storm, 3640);
  ASSERT_EQ(host.detached().size(), before + 1);
  EXPECT_NEAR(host.detached().back(), 3630, 1);
  EXPECT_FALSE(host.governor().detached());
}

TEST(Governor, WhereNobodyTellsOrWhatIsToldMisleadsItWaitsOutThePause) {
  Host untold(TwoCpus());
  untold.known_while_detached = false;
  const Load storm = [](double at) { return Parts({{Part::kSwitch, at < 30 ? 1.0 : 0.001}}); };
  untold.Run(storm, 200);
  ASSERT_EQ(untold.detached().size(), 2u);
  EXPECT_NEAR(untold.detached()[1] - untold.detached()[0], 60, 1);

  // A storm of what is not counted while it is detached.
  Host misled(TwoCpus());
  misled.told_while_detached = 0;
  const double spent = misled.Run([](double) { return Parts({{Part::kRest, 0.1}}); }, 1200);
  const std::vector<double>& at = misled.detached();
  ASSERT_GE(at.size(), 4u);
  EXPECT_NEAR(at[1] - at[0], 30, 1) << "it looks calm";
  EXPECT_NEAR(at[3] - at[2], 120, 1) << "and is not: the pause goes on growing";
  EXPECT_LT(spent, 1.2 * misled.budget() * 1200);
}

// What comes in bursts is smoothed, so it still shows for a while after all was turned down.
TEST(Governor, KeepsWatchingWhenWhatCouldNotBeHeldGoesAway) {
  Host host(TwoCpus());
  host.Run(
      [](double at) {
        return Parts({{Part::kSyscall, 0.3}, {Part::kRest, at < 5 ? 0.028 : 0.0155}});
      },
      300);
  EXPECT_TRUE(host.detached().empty());
}

// When a storm begins, programs are met for the first time and their tables are built: that costs
// once, and blind is who leaves for it.
TEST(Governor, KeepsWatchingWhileProgramsThatAreToComeOffStillRun) {
  Host host(TwoCpus());
  // Five times the budget, for as long as the kernel takes to let them go.
  host.unseen = 0.1;
  const Load storm = [](double) {
    return Parts({{Part::kSyscall, 0.3}, {Part::kSwitch, 0.05}, {Part::kRest, 0.004}});
  };
  host.Run(storm, 10);
  ASSERT_EQ(host.governor().level(Part::kSwitch), kSwitchCount);
  host.unseen = 0;
  host.Run(storm, 60);
  EXPECT_TRUE(host.detached().empty());
}

TEST(Governor, KeepsWatchingAStormWhoseBeginningWasDear) {
  Host host(TwoCpus());
  const Load storm = [](double at) {
    const double tables = at < 20 ? 0 : 0.04 * std::exp(-(at - 20) / 30);
    return Parts({{Part::kSyscall, at < 20 ? 0.001 : 0.3}, {Part::kRest, 0.002 + tables}});
  };
  const double spent = host.Run(storm, 120);
  EXPECT_TRUE(host.detached().empty()) << host.detached().front();
  EXPECT_LE(spent, 1.05 * host.budget() * 120);
}

// What a storm's records took is told over half a minute: leaving afterwards saves none of it.
TEST(Governor, DoesNotLeaveAfterAStormForWhatTheStormTook) {
  const auto fading = [](double at) { return at < 10 ? 0 : 0.06 * std::exp(-(at - 10) / 30); };
  const Load calm = [&](double at) {
    return Parts({{Part::kRest, 0.004 + fading(at)}, {Part::kSyscall, 0.01}});
  };
  Host untold(TwoCpus());
  untold.Run(calm, 60);
  ASSERT_FALSE(untold.detached().empty()) << "else this shows nothing";
  Host host(TwoCpus());
  host.paid = fading;
  host.Run(calm, 60);
  EXPECT_TRUE(host.detached().empty());
}

TEST(Governor, WhatAStormTookDoesNotKeepItAwayOnceTheHostIsCalm) {
  Host host(TwoCpus());
  const auto fading = [](double at) { return at < 50 ? 0 : 0.05 * std::exp(-(at - 50) / 30); };
  host.paid = fading;
  const Load storm = [&](double at) {
    return Parts(
        {{Part::kSwitch, at >= 30 && at < 50 ? 1.0 : 0.001}, {Part::kRest, 0.002 + fading(at)}});
  };
  host.Run(storm, 100);
  ASSERT_EQ(host.detached().size(), 2u);
  EXPECT_NEAR(host.detached()[1], 80, 2) << "half a minute after the storm";
}

// The calm it waited for need not be waited for again.
TEST(Governor, IsWhollyBackTenSecondsAfterItCameBackToACalmHost) {
  Host host(TwoCpus());
  const Load storm = [](double at) {
    return Parts({{Part::kSwitch, at < 20 ? 1.0 : 0.001},
                  {Part::kSyscall, at < 20 ? 0.2 : 0.001},
                  {Part::kRest, 0.002}});
  };
  host.Run(storm, 65);
  ASSERT_EQ(host.detached().size(), 2u);
  EXPECT_NEAR(host.detached()[1], 50, 2);
  EXPECT_EQ(host.governor().level(Part::kSyscall), 0);
  EXPECT_EQ(host.governor().level(Part::kSwitch), 0);
}

// A storm's samples are turned down to the end; in the calm after it all that are due are taken, so
// they take no more at level 0.
TEST(Governor, TakesSamplesBackAtOnceWhereNoneAreRefused) {
  const auto level_after = [](bool tells_refused) {
    Host host(TwoCpus());
    host.wanted = [](double at) { return at < 20 ? 1 : 0.01; };
    host.tells_refused = tells_refused;
    const Load storm = [](double at) {
      const bool blows = at < 20;
      return Parts({{Part::kSamples, blows ? 0.3 : 0.0005}, {Part::kRest, 0.004}});
    };
    host.Run(storm, 20);
    EXPECT_GE(host.governor().level(Part::kSamples), kTokenLevels);
    host.Run(storm, 52);
    return host.governor().level(Part::kSamples);
  };
  EXPECT_GE(level_after(false), 1) << "else this shows nothing";
  EXPECT_EQ(level_after(true), 0);
}

// What they took is remembered as what it was, not as 2^level of it: else nothing else would fit.
TEST(Governor, SamplesTakenBackKeepNothingElseAway) {
  Host host(TwoCpus());
  host.wanted = [](double at) { return at < 20 ? 1 : 0.01; };
  const Load storm = [](double at) {
    const bool blows = at < 20;
    return Parts({{Part::kSamples, blows ? 0.3 : 0.0005},
                  {Part::kSyscall, blows ? 0.06 : 0.002},
                  {Part::kLock, blows ? 0.04 : 0.002},
                  {Part::kRest, 0.004}});
  };
  host.Run(storm, 20);
  ASSERT_GE(host.governor().level(Part::kSamples), kTokenLevels);
  ASSERT_GE(host.governor().level(Part::kSyscall), 1);
  host.Run(storm, 80);
  for (const Part part : {Part::kSamples, Part::kSyscall, Part::kLock}) {
    EXPECT_EQ(host.governor().level(part), 0) << PartName(part);
  }
}

// The second storm comes within a minute of its return, and the host tells of it: the calm after it
// can be believed, too.
TEST(Governor, ComesBackAfterEachOfTwoStormsCloseToEachOther) {
  Host host(TwoCpus());
  const Load storms = [](double at) {
    const bool blows = at < 20 || (at >= 60 && at < 80);
    return Parts({{Part::kSwitch, blows ? 1.0 : 0.001}, {Part::kRest, 0.002}});
  };
  host.Run(storms, 200);
  ASSERT_EQ(host.detached().size(), 4u);
  EXPECT_NEAR(host.detached()[1], 50, 2);
  EXPECT_NEAR(host.detached()[3], 110, 2);
}

// Counting switches is the least that can be done of them, so a storm of theirs alone is left soon.
TEST(Governor, LeavesAStormOfSwitchesThatCannotBeHeldWithinSeconds) {
  Host host(TwoCpus());
  // Counted only, they take 2.6 % of the host.
  const Load storm = [](double at) {
    return Parts({{Part::kSwitch, at < 10 ? 0.001 : 0.29}, {Part::kRest, 0.002}});
  };
  host.Run(storm, 10);
  const double spent = host.Run(storm, 50);
  ASSERT_FALSE(host.detached().empty());
  EXPECT_LE(spent, 1.2 * host.budget() * 40);
  EXPECT_LE(host.detached().front(), 10 + 8) << "20 s of budget would last for 12 s of it";
}

// That other parts, which do not matter, can be turned down ever more is no reason to stay.
TEST(Governor, LeavesItAlsoWhileOtherPartsCanStillBeTurnedDown) {
  Host host(TwoCpus());
  const Load storm = [](double at) {
    const double since = std::max(0.0, at - 10);
    return Parts({{Part::kSwitch, at < 10 ? 0.001 : 0.29},
                  {Part::kSyscall, 0.002 * std::exp2(since)},
                  {Part::kRest, 0.002}});
  };
  host.Run(storm, 18);
  ASSERT_FALSE(host.detached().empty());
  EXPECT_LE(host.detached().front(), 10 + 6);
}

TEST(Governor, WhatItOverspendsBeforeItLeavesThePauseAfterItMakesUpFor) {
  Host host(TwoCpus());
  const double spent = host.Run([](double) { return Parts({{Part::kRest, 0.03}}); }, 1000);
  ASSERT_GE(host.detached().size(), 2u);
  EXPECT_LE(spent, host.budget() * 1000);
}

TEST(Governor, WithoutABudgetItOnlyReckons) {
  GovernorOptions options = TwoCpus();
  options.budget = 0;
  Host host(options);
  host.Run([](double) { return Parts({{Part::kSyscall, 0.5}}); }, 20);
  EXPECT_TRUE(host.steps().empty());
  EXPECT_NEAR(host.governor().share(), 0.25, 0.01);
}

TEST(Governor, EveryStepDownCostsLess) {
  for (size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    for (uint8_t level = 1; level <= MaxLevel(part); ++level) {
      const auto above = static_cast<uint8_t>(level - 1);
      EXPECT_LT(Governor::Cost(part, level, 1e6), Governor::Cost(part, above, 1e6))
          << PartName(part) << " " << int{level};
    }
  }
}

}  // namespace
}  // namespace telltale::agent
