// The rules about what a process does, on epochs with and without the fault each speaks of.

#include <gmock/gmock.h>

#include <cerrno>

#include "collector/filter/detect/rules.h"
#include "tests/unit/filter_play.h"

namespace telltale::filter {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr uint64_t kSecond = Watch::kSecond;

// What is certain of one place of a program's code, in CPUs.
void Place(Watch& watch, const std::string& exe, double cpus, uint64_t place) {
  watch.Label("cpu", "user", exe, cpus).set_label(0, place);
}

void Spin(Watch& watch, double calls, double of_program) {
  watch.Process(812, "/usr/bin/app",
                {{TELLTALE_PROCESS_RUN_NS, 0.99e9},
                 {TELLTALE_PROCESS_FAULTS_MINOR, 0.1},
                 {watch.Share("syscall", "ok", false), calls}});
  Place(watch, "/usr/bin/app", of_program, 1);
}

TEST(BusyLoopTest, ALoopThatAsksNothingOfTheKernelIsToldInItsSecondEpoch) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 1, Nothing, [](Watch& w) { Spin(w, 1, 0.97); });
  EXPECT_TRUE(watch.told.empty());
  const uint64_t began = watch.now - 60 * kSecond;
  Play(watch, 0, 5, Nothing, [](Watch& w) { Spin(w, 1, 0.97); });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].start_ns, began);
  EXPECT_EQ(watch.told[0].subject, "app (pid 812, uid 0)");
  EXPECT_EQ(watch.told[0].cause, "busy loop");
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("100 % of what was sampled of it in 3 places"));
  EXPECT_THAT(watch.told[0].against, HasSubstr("without hardware counters"));
  Play(watch, 3, 0, Nothing, Nothing);
  ASSERT_EQ(watch.told.size(), 2u);
  EXPECT_FALSE(watch.told[1].open);
  EXPECT_EQ(watch.told[1].start_ns, began);
}

// An encoder that makes 400 calls and 150 waits a second, on a node of which a row leaves out as
// many.
TEST(BusyLoopTest, WhereARowCannotTellOfCallsNobodyIsSaidToMakeNone) {
  const auto told = [](double calls, double waits) {
    Watch watch(BusyLoopFilter());
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      Spin(w, 0, 0.97);
      w.Others(900, {{w.Share("syscall", "ok", false), calls},
                     {TELLTALE_PROCESS_SWITCHES_VOLUNTARY, waits}});
    });
    return watch.told;
  };
  EXPECT_TRUE(told(5e5, 1e3).empty());
  EXPECT_TRUE(told(1e3, 2e5).empty());
  const auto busy = told(68e3, 1e3);
  ASSERT_EQ(busy.size(), 1u) << "a node that makes 68,000 calls a second";
  EXPECT_THAT(busy[0].text,
              HasSubstr("ran 59.4 s of 60 s and asked next to nothing of the kernel"));
  EXPECT_THAT(busy[0].evidence, HasSubstr("0.99 CPUs, at most 68 calls/s, 0.1 faults/s"));
  EXPECT_THAT(told(30, 30).at(0).evidence, HasSubstr("0.99 CPUs, 0 calls/s"));
}

// Beside a program that makes half a million calls a second.
TEST(BusyLoopTest, ARowThatLeavesNothingOutTellsOfCallsHoweverManyOthersMake) {
  const auto told = [](double calls, uint64_t whole_from_run_ns) {
    Watch watch(BusyLoopFilter());
    Play(watch, 40, 2, Nothing, [&](Watch& w) {
      Spin(w, calls, 0.97);
      w.Others(900, {{w.Share("syscall", "ok", false), 5e5}});
      w.body.mutable_processes()->set_whole_from_run_ns(whole_from_run_ns);
    });
    return watch.told;
  };
  const uint64_t ran_ns = 59'400'000'000;
  ASSERT_EQ(told(0, ran_ns).size(), 1u);
  EXPECT_THAT(told(0, ran_ns)[0].evidence, HasSubstr("0.99 CPUs, 0 calls/s"));
  EXPECT_TRUE(told(400, ran_ns).empty()) << "an encoder";
  EXPECT_TRUE(told(0, ran_ns + 1).empty());
  EXPECT_TRUE(told(0, 0).empty());
}

// Of a loop on a machine with hardware counters: its cache misses a second, those of all without a
// row, and what was sampled of it in one place of the code, in CPUs.
std::vector<Watch::Told> SpinsAndMisses(double misses, double of_others, double of_place) {
  Watch watch(BusyLoopFilter());
  watch.CountMisses();
  Play(watch, 40, 2, Nothing, [&](Watch& w) {
    const uint32_t column = w.Share("llc", "misses", true);
    w.Process(
        812, "/usr/bin/app",
        {{TELLTALE_PROCESS_RUN_NS, 0.5e9}, {TELLTALE_PROCESS_QUEUE_NS, 0.5e9}, {column, misses}});
    w.Others(900, {{column, of_others}});
    if (of_place > 0) Place(w, "/usr/bin/app", of_place, 1);
  });
  return watch.told;
}

// A job that computes for eight epochs and ends, an hour later again, and this time does not.
TEST(BusyLoopTest, ThatItsProgramStoppedBeforeSpeaksAgainst) {
  Watch watch(BusyLoopFilter());
  const auto spin = [](Watch& w) { Spin(w, 1, 0.97); };
  Play(watch, 40, 8, Nothing, spin);
  Play(watch, 60, 2, Nothing, spin);
  ASSERT_EQ(watch.told.size(), 3u);
  EXPECT_THAT(watch.told[0].against, Not(HasSubstr("on end")));
  EXPECT_THAT(watch.told[2].against,
              HasSubstr("; within the last week or two this program computed for 8 epochs on end, "
                        "and stopped"));
}

TEST(BusyLoopTest, WithHardwareCountersItIsWhatTheCacheServes) {
  const auto told = SpinsAndMisses(20e3, 0, 0);
  ASSERT_EQ(told.size(), 1u) << "wherever in the code it is";
  EXPECT_THAT(told[0].evidence, HasSubstr("4e+04 cache misses/s"));
  EXPECT_THAT(told[0].against, HasSubstr("a computation that fits into the cache"));
}

TEST(BusyLoopTest, WithHardwareCountersWhatReadsMemoryIsNoneHoweverFewItsPlaces) {
  EXPECT_EQ(SpinsAndMisses(49e3, 0, 0.5).size(), 1u);
  EXPECT_TRUE(SpinsAndMisses(51e3, 0, 0.5).empty()) << "100,000 per second of CPU";
}

TEST(BusyLoopTest, WhereARowCannotTellOfMissesItIsAsWithoutHardwareCounters) {
  EXPECT_EQ(SpinsAndMisses(0, 49e6, 0).size(), 1u) << "49,000 at most may be its";
  EXPECT_TRUE(SpinsAndMisses(0, 51e6, 0).empty());
  const auto told = SpinsAndMisses(0, 51e6, 0.5);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0].evidence, HasSubstr("of what was sampled of it in 3 places"));
  EXPECT_THAT(told[0].against, HasSubstr("without hardware counters"));
}

TEST(BusyLoopTest, ItSpeaksAfterAsManyEpochsAsItIsToldToLearn) {
  const auto spoken = [](double learn) {
    Watch watch(BusyLoopFilter(), {{"learn", learn}});
    Play(watch, 10, 4, Nothing, [](Watch& w) { Spin(w, 1, 0.97); });
    return watch.told.size();
  };
  EXPECT_EQ(spoken(10), 1u);
  EXPECT_EQ(spoken(13), 0u);  // the last of them alone is not two in a row
}

// Of a loop in a node's 41st epoch and the next ones, each watched for so long and with such
// losses.
struct Rested {
  size_t epochs = 0;  // until it was told; 0: not within four
  std::string evidence;
};
Rested RestsOn(uint64_t unwatched_s, uint64_t lost) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 0, Nothing, Nothing);
  watch.unwatched_s = unwatched_s;
  for (size_t epoch = 1; epoch <= 4; ++epoch) {
    Play(watch, 0, 1, Nothing, [&](Watch& w) {
      Spin(w, 1, 0.97);
      w.body.add_losses()->set_events(lost);
    });
    if (!watch.told.empty()) return {epoch, watch.told[0].evidence};
  }
  return {};
}

TEST(RuleTest, TheEvidenceSaysHowMuchOfItsEpochsWasSeen) {
  using ::testing::EndsWith;
  EXPECT_THAT(RestsOn(0, 0).evidence, EndsWith("places of the code"));
  EXPECT_THAT(RestsOn(3, 0).evidence, EndsWith("places of the code")) << "95 %";
  EXPECT_THAT(RestsOn(4, 0).evidence, EndsWith("; watched 112 of 120 s"));
  EXPECT_THAT(RestsOn(0, 21).evidence, EndsWith("; 42 events or samples lost"));
  EXPECT_THAT(RestsOn(10, 21).evidence,
              EndsWith("; watched 100 of 120 s, 42 events or samples lost"));
}

// As of one that an agent at its budget did not follow all the time.
TEST(RuleTest, WhatItsVitalWasNotFollowedCountsAsNotWatched) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 2, Nothing, [](Watch& w) {
    Spin(w, 1, 0.97);
    w.Vital("cpu").set_unwatched_ns(12 * kSecond);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("; watched 96 of 120 s"));
}

// It says that a process asks nothing of the kernel, so it rests on the system calls as well.
TEST(RuleTest, OfTheVitalsItRestsOnTheOneWatchedLeastCounts) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 2, Nothing, [](Watch& w) {
    Spin(w, 1, 0.97);
    w.Vital("cpu").set_unwatched_ns(6 * kSecond);
    w.Vital("syscall").set_unwatched_ns(15 * kSecond);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("; watched 90 of 120 s"));
}

// An agent at its budget looks now and then and reckons up.
TEST(RuleTest, VitalsItRestsOnThatAreEstimatesAreNamed) {
  using ::testing::EndsWith;
  const auto evidence = [](const std::vector<const char*>& estimated) {
    Watch watch(BusyLoopFilter());
    Play(watch, 40, 3, Nothing, [&](Watch& w) {
      Spin(w, 1, 0.97);
      const bool first = w.now == 480'000 * storage::kHourNs + 40 * 60 * kSecond;
      for (const char* vital : estimated) w.Vital(vital).set_estimated(first);
    });
    EXPECT_EQ(watch.told.size(), 1u);
    return watch.told.empty() ? "" : watch.told[0].evidence;
  };
  EXPECT_THAT(evidence({"syscall"}), EndsWith("; syscall is an estimate"));
  EXPECT_THAT(evidence({"cpu", "syscall"}), EndsWith("; cpu and syscall are estimates"));
  EXPECT_THAT(evidence({"blocking"}), Not(HasSubstr("estimate"))) << "it does not rest on that";
}

TEST(RuleTest, OfEpochsThatWereHardlyWatchedItWantsThree) {
  EXPECT_EQ(RestsOn(18, 0).epochs, 2u) << "70 %";
  EXPECT_EQ(RestsOn(19, 0).epochs, 3u);
  EXPECT_THAT(RestsOn(19, 0).evidence, HasSubstr("watched 123 of 180 s"));
}

TEST(BusyLoopTest, OnABusyNodeItIsToldByWhatItWants) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    w.Process(812, "/usr/bin/app",
              {{TELLTALE_PROCESS_RUN_NS, 0.1e9}, {TELLTALE_PROCESS_QUEUE_NS, 0.89e9}});
    w.Label("cpu", "user", "/usr/bin/app", 0.1);
  });
  EXPECT_EQ(watch.told.size(), 1u);
}

TEST(BusyLoopTest, WhatGoesOnWhileItLearnsIsNotTold) {
  Watch watch(BusyLoopFilter());
  Play(watch, 0, 60, Nothing, [](Watch& w) { Spin(w, 1, 0.97); });
  EXPECT_TRUE(watch.told.empty());
}

TEST(BusyLoopTest, WorkThatCallsTheKernelOrIsAllOverTheCodeIsNone) {
  Watch calls(BusyLoopFilter());
  Play(calls, 40, 20, Nothing, [](Watch& w) { Spin(w, 500, 0.97); });
  EXPECT_TRUE(calls.told.empty());
  Watch spread(BusyLoopFilter());
  Play(spread, 40, 4, Nothing, [](Watch& w) {
    Spin(w, 1, 0.3);
    for (uint64_t i = 0; i < 7; ++i) Place(w, "/usr/bin/app", 0.09, 2 + i);
  });
  EXPECT_TRUE(spread.told.empty());
  Watch unseen(BusyLoopFilter());
  Play(unseen, 40, 4, Nothing, [](Watch& w) { Spin(w, 1, 0.1); });
  EXPECT_TRUE(unseen.told.empty());
}

// An interpreter's loop in one place of it, which the stacks of its samples show under many
// callers.
TEST(BusyLoopTest, ALoopInOnePlaceIsToldHoweverManyStacksLeadThere) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 2, Nothing, [](Watch& w) {
    Spin(w, 1, 0.9);
    for (int stack = 1; stack < 12; ++stack) Place(w, "/usr/bin/app", 0.9, 1);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("100 % of what was sampled of it in 3 places"));
}

TEST(BusyLoopTest, APlaceThatTwoStacksLeadToIsVouchedForOnce) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    Spin(w, 1, 0.1);
    Place(w, "/usr/bin/app", 0.1, 1);
  });
  EXPECT_TRUE(watch.told.empty()) << "a tenth of its time, where nobody knows of the rest";
}

// A shell that counts: its interpreter goes round in so many places that few of them are sampled.
void Interpret(Watch& watch, double calls, uint32_t pid = 812) {
  watch.Process(pid, "/usr/bin/bash",
                {{TELLTALE_PROCESS_RUN_NS, 0.99e9}, {watch.Share("syscall", "ok", false), calls}});
  for (uint64_t i = 0; i < 3; ++i) Place(watch, "/usr/bin/bash", 0.02, i);
}

TEST(BusyLoopTest, AnInterpretersLoopIsToldOnceItWentOnForFiveEpochs) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) { Interpret(w, 1); });
  EXPECT_TRUE(watch.told.empty());
  Play(watch, 0, 1, Nothing, [](Watch& w) { Interpret(w, 1); });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].evidence,
              HasSubstr("for 5 epochs on end; it did not compute so long within the last week"));
  Watch starved(BusyLoopFilter());
  Play(starved, 40, 20, Nothing, [](Watch& w) {
    w.Process(812, "/usr/bin/clang",
              {{TELLTALE_PROCESS_RUN_NS, 0.08e9}, {TELLTALE_PROCESS_QUEUE_NS, 0.9e9}});
  });
  EXPECT_TRUE(starved.told.empty()) << "it hardly runs: who knows what it would ask for";
  Watch works(BusyLoopFilter());
  Play(works, 40, 40, Nothing, [i = 0](Watch& w) mutable { Interpret(w, ++i % 4 == 0 ? 500 : 1); });
  EXPECT_TRUE(works.told.empty()) << "a script that asks something of the kernel now and then";
}

TEST(BusyLoopTest, AProgramMayComputeForAsLongAsItDidBefore) {
  Watch first(BusyLoopFilter()), second(BusyLoopFilter());
  Play(first, 2, 8, Nothing, [](Watch& w) { Interpret(w, 1, 700); });  // while it learns
  Play(first, 300, 0, Nothing, Nothing);
  ASSERT_TRUE(second.Load(first.Save()));
  second.now = first.now;
  Play(second, 0, 8, Nothing, [](Watch& w) { Interpret(w, 1); });
  EXPECT_TRUE(second.told.empty());
  Play(second, 0, 3, Nothing, [](Watch& w) { Interpret(w, 1); });
  ASSERT_EQ(second.told.size(), 1u);
  EXPECT_THAT(second.told[0].evidence, HasSubstr("for 10 epochs on end"));
}

TEST(BusyLoopTest, WhatGrowsGetsOnWithSomething) {
  Watch watch(BusyLoopFilter());
  double resident = 50e6;
  Play(watch, 40, 20, Nothing, [&](Watch& w) {
    resident += 600e6;
    w.Process(812, "/usr/bin/app",
              {{TELLTALE_PROCESS_RUN_NS, 0.97e9}, {TELLTALE_PROCESS_RSS_BYTES, resident}});
    w.Label("cpu", "user", "/usr/bin/app", 0.9);
  });
  EXPECT_TRUE(watch.told.empty());
}

// Of a program in one loop, on two CPUs that four others want, the samples vouched for 42 %.
TEST(BusyLoopTest, WhatSamplesVouchForMayBeHalfOfItsTime) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    Spin(w, 1, 0.3);
    Place(w, "/usr/bin/app", 0.1, 2);
    Place(w, "/usr/bin/other", 0.5, 3);
  });
  EXPECT_EQ(watch.told.size(), 1u);
}

TEST(BusyLoopTest, AProgramThatAlwaysComputesIsLeftAlone) {
  Watch watch(BusyLoopFilter());
  for (int hour = 0; hour < 6; ++hour) {
    Play(watch, 10, 40, Nothing, [](Watch& w) { Spin(w, 1, 0.97); });
  }
  // Its first stretch lies within what the node learns from and may be told of; no other is.
  EXPECT_LE(watch.told.size(), 2u);
}

TEST(RuleTest, AFaultHoweverLongMutesNotItsOwnRecurrence) {
  Watch watch(BusyLoopFilter());
  const auto spins = [](Watch& w) { Spin(w, 1, 0.97); };
  Play(watch, 40, 480, Nothing, spins);
  Play(watch, 30, 0, Nothing, Nothing);
  ASSERT_EQ(watch.told.size(), 2u);  // begins and ends
  Play(watch, 0, 5, Nothing, spins);
  EXPECT_EQ(watch.told.size(), 3u);
}

TEST(RuleTest, WhatComesAgainAndAgainIsHowTheProgramIs) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 0, Nothing, Nothing);
  for (int i = 0; i < 8; ++i) Play(watch, 5, 20, Nothing, [](Watch& w) { Spin(w, 1, 0.97); });
  Play(watch, 5, 0, Nothing, Nothing);
  EXPECT_EQ(watch.told.size(), 2u * 4);
  EXPECT_STREQ(watch.Learned().muted, "/usr/bin/app\n") << "and it says so";
}

TEST(RuleTest, OverAHoleInTimeNothingIsInARow) {
  Watch watch(BusyLoopFilter());
  const auto spins = [](Watch& w) { Spin(w, 1, 0.97); };
  Play(watch, 40, 1, Nothing, spins);
  watch.now += 6 * storage::kHourNs;
  const uint64_t back = watch.now;
  Play(watch, 0, 1, Nothing, spins);
  EXPECT_TRUE(watch.told.empty());
  watch.now += kSecond;  // clocks put epochs this far apart
  Play(watch, 0, 1, Nothing, spins);
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].start_ns, back);
}

TEST(BusyLoopTest, HowLongAProgramComputedOnceIsForgottenAfterAWeekOrTwo) {
  Watch watch(BusyLoopFilter());
  const auto computes = [](Watch& w) { Interpret(w, 1); };
  Play(watch, 40, 60, Nothing, computes);
  Play(watch, 5, 0, Nothing, Nothing);
  ASSERT_EQ(watch.told.size(), 2u);
  watch.now += 6 * storage::kDayNs;
  Play(watch, 1, 20, Nothing, computes);
  EXPECT_EQ(watch.told.size(), 2u) << "it did so within the week";
  Play(watch, 5, 0, Nothing, Nothing);
  watch.now += 15 * storage::kDayNs;
  Play(watch, 1, 20, Nothing, computes);
  EXPECT_EQ(watch.told.size(), 3u);
}

TEST(BusyLoopTest, WithoutSystemCallsWatchedItCannotTell) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 20, Nothing, [](Watch& w) {
    Spin(w, 0, 0.97);
    w.Vital("syscall").set_unwatched_ns(60 * kSecond);
  });
  EXPECT_TRUE(watch.told.empty());
}

void Fails(Watch& watch, double failed, double ok) {
  watch.Process(812, "/usr/bin/app",
                {{TELLTALE_PROCESS_RUN_NS, 0.9e9},
                 {watch.Share("syscall", "ok", false), ok},
                 {watch.Share("syscall", "failed", false), failed}});
  v1::FoldedSample& sample = watch.Label("syscall", "failed", "/usr/bin/app", failed);
  sample.set_label(0, 44 + 1);
  sample.mutable_exemplar()->set_pid(812);
  sample.mutable_exemplar()->set_detail(1, 2 * 32 - 1);  // -EPIPE, zigzag
}

TEST(FailingCallTest, ALoopAroundAFailingSendIsNamedWithItsCallAndError) {
  Watch watch(FailingCallFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) { Fails(w, 3e5, 1e3); });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("goes round a call that fails (sendto, EPIPE)"));
  EXPECT_EQ(watch.told[0].cause, "busy loop around a failing call");
}

// Agents send labels by what was sampled of each stack.
TEST(FailingCallTest, OfCallsThatFailTheHeaviestIsNamedWhereverItStands) {
  Watch watch(FailingCallFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    v1::FoldedSample& first = w.Label("syscall", "failed", "/usr/bin/app", 500);
    first.set_label(0, 3 + 1);
    first.mutable_exemplar()->set_pid(812);
    first.mutable_exemplar()->set_detail(1, 2 * EBADF - 1);
    Fails(w, 3e5, 1e3);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("goes round a call that fails (sendto, EPIPE)"));
}

TEST(FailingCallTest, WhatItMayBeAfterSpeaksAgainst) {
  const auto against = [](double ok, uint64_t error) {
    Watch watch(FailingCallFilter());
    Play(watch, 40, 2, Nothing, [&](Watch& w) {
      Fails(w, 3e5, ok);
      w.Vital("syscall").mutable_samples()->rbegin()->mutable_exemplar()->set_detail(1,
                                                                                     2 * error - 1);
    });
    return watch.told.at(0).against;
  };
  EXPECT_EQ(against(0, EPIPE), "a program that polls without waiting does it on purpose");
  EXPECT_THAT(against(500, EPIPE), ::testing::StartsWith("500 calls/s succeed; a program"));
  EXPECT_THAT(against(0, EAGAIN), ::testing::StartsWith("EAGAIN may be an answer; a program"));
}

TEST(FailingCallTest, CallsThatARowLeavesOutAreNotTakenForNone) {
  const auto told = [](double failed) {
    Watch watch(FailingCallFilter());
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      Fails(w, failed, 0);
      w.Others(900, {{w.Share("syscall", "ok", false), 2e7}});
    });
    return watch.told;
  };
  EXPECT_TRUE(told(1'000).empty()) << "it may be a twentieth of what it does";
  const auto most = told(60'000);
  ASSERT_EQ(most.size(), 1u);
  EXPECT_THAT(most[0].evidence, HasSubstr("at least 75 % of its at most 8e+04 calls/s failed"));
}

TEST(FailingCallTest, SomeFailuresAmongMuchWorkAreUsual) {
  Watch watch(FailingCallFilter());
  Play(watch, 40, 20, Nothing, [](Watch& w) { Fails(w, 2e4, 3e5); });
  EXPECT_TRUE(watch.told.empty());
}

// A shell that goes round a failing `kill`: bash makes eleven calls that succeed for each.
void Round(Watch& watch, int error, double cpus, double pauses) {
  watch.Process(812, "/usr/bin/bash",
                {{TELLTALE_PROCESS_RUN_NS, cpus * 1e9},
                 {TELLTALE_PROCESS_SWITCHES_VOLUNTARY, pauses},
                 {watch.Share("syscall", "ok", false), 44e3},
                 {watch.Share("syscall", "failed", false), 4e3}});
  v1::FoldedSample& sample = watch.Label("syscall", "failed", "/usr/bin/bash", 3.5e3);
  sample.set_label(0, 62 + 1);
  sample.mutable_exemplar()->set_pid(812);
  sample.mutable_exemplar()->set_detail(1, static_cast<uint64_t>(2 * error - 1));
}

TEST(FailingCallTest, AShellThatGoesRoundAFailingKillIsNamed) {
  Watch watch(FailingCallFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) { Round(w, ESRCH, 0.95, 0); });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("goes round a call that fails (kill, ESRCH)"));
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("8.33 % of its 4.8e+04 calls/s failed"));
}

TEST(FailingCallTest, ProgramsThatAskUntilThereIsSomethingOrPauseAreNone) {
  Watch asks(FailingCallFilter());
  Play(asks, 40, 20, Nothing, [](Watch& w) { Round(w, EAGAIN, 0.95, 0); });
  EXPECT_TRUE(asks.told.empty());
  Watch pauses(FailingCallFilter());
  Play(pauses, 40, 20, Nothing, [](Watch& w) { Round(w, ESRCH, 0.5, 0); });
  EXPECT_TRUE(pauses.told.empty());
}

// A compiler asks of each part of a path whether it is a link.
std::vector<Watch::Told> AsksForLinks(double of_all) {
  constexpr uint64_t kReadlink = 89;  // x86-64
  Watch watch(FailingCallFilter());
  Play(watch, 40, 20, Nothing, [&](Watch& w) {
    w.Process(812, "/usr/lib/cc1plus",
              {{TELLTALE_PROCESS_RUN_NS, 0.9e9},
               {w.Share("syscall", "ok", false), 20e3 * (1 - of_all)},
               {w.Share("syscall", "failed", false), 20e3 * of_all}});
    v1::FoldedSample& sample = w.Label("syscall", "failed", "/usr/lib/cc1plus", 20e3 * of_all);
    sample.set_label(0, kReadlink + 1);
    sample.mutable_exemplar()->set_pid(812);
    sample.mutable_exemplar()->set_detail(1, 2 * EINVAL - 1);
  });
  return watch.told;
}

TEST(FailingCallTest, AQuestionAnsweredByFailingIsALoopOnlyIfNothingElseIsDone) {
  EXPECT_TRUE(AsksForLinks(0.7).empty());
  const auto told = AsksForLinks(0.95);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0].text, HasSubstr("goes round a call that fails (readlink, EINVAL)"));
}

void Loaded(Watch& watch, double faults, double cpus) {
  Nothing(watch);
  watch.Process(812, "/usr/bin/redis",
                {{TELLTALE_PROCESS_RUN_NS, cpus * 1e9}, {TELLTALE_PROCESS_FAULTS_MINOR, faults}});
}

TEST(LoadTest, WhatHasBeenThereForLongAndDoesMoreIsAGrowingLoad) {
  Watch watch(LoadFilter());
  for (int i = 0; i < 40; ++i) {
    Loaded(watch, 300, 0.2);
    watch.Show();
  }
  for (int i = 0; i < 4; ++i) {
    Loaded(watch, 5200, 0.8);
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text,
            "redis (pid 812, uid 0) has more to do: it touches 5200 pages a second for the first "
            "time, usually 300, and takes 0.8 CPUs, usually 0.2");
  EXPECT_EQ(watch.told[0].cause, "growing load");
  EXPECT_THAT(watch.told[0].against, HasSubstr("without hardware counters"));
}

// With hardware counters: so many cache misses a second while it takes 0.8 CPUs.
std::vector<Watch::Told> DoesMoreAndMisses(double misses) {
  Watch watch(LoadFilter());
  watch.CountMisses();
  for (int i = 0; i < 42; ++i) {
    const bool more = i >= 40;
    Nothing(watch);
    watch.Process(812, "/usr/bin/redis",
                  {{TELLTALE_PROCESS_RUN_NS, more ? 0.8e9 : 0.2e9},
                   {TELLTALE_PROCESS_FAULTS_MINOR, more ? 5200 : 300},
                   {watch.Share("llc", "misses", true), more ? misses : 1e3}});
    watch.Show();
  }
  return watch.told;
}

TEST(LoadTest, WithHardwareCountersAGrowingLoadMakesMuchMemoryTraffic) {
  EXPECT_TRUE(DoesMoreAndMisses(79e3).empty()) << "it sets things up anew";
  const auto told = DoesMoreAndMisses(160e3);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].cause, "growing load");
  EXPECT_THAT(told[0].evidence, HasSubstr("2e+05 cache misses per second of CPU"));
  EXPECT_THAT(told[0].against, HasSubstr("it kept 0 % of these pages; a job of its own"));
}

TEST(LoadTest, MoreFirstTouchesAloneOrAUsualPeakAreNone) {
  Watch touches(LoadFilter());
  Watch peak(LoadFilter());
  for (int i = 0; i < 80; ++i) {
    Loaded(touches, i < 40 ? 300 : 5200, 0.2);
    touches.Show();
    Loaded(peak, i < 40 ? 3000 : 9000, i < 40 ? 0.3 : 0.9);
    peak.Show();
  }
  EXPECT_TRUE(touches.told.empty());
  EXPECT_TRUE(peak.told.empty());
}

// Starts `epochs` long from here on, then quiet ones.
void Start(Watch& watch, uint32_t pid, int epochs, int quiet, bool keeps = true) {
  for (int i = 0; i < epochs + quiet; ++i) {
    Nothing(watch);
    const double touched = std::min(i + 1, epochs) * 4e3 * 60 * 4096;
    watch.Process(pid, "/usr/bin/java",
                  {{TELLTALE_PROCESS_RUN_NS, 0.9e9},
                   {TELLTALE_PROCESS_FAULTS_MINOR, i < epochs ? 4e3 : 20},
                   {TELLTALE_PROCESS_RSS_BYTES, keeps ? touched : 20e6}});
    watch.Show();
  }
}

TEST(LoadTest, AStartIsNoLoadAndToldOnlyIfItTakesLongerThanAny) {
  Watch watch(LoadFilter());
  Play(watch, 40, 0, Nothing, Nothing);
  Start(watch, 100, 3, 10);
  EXPECT_TRUE(watch.told.empty());
  Start(watch, 101, 9, 10);
  ASSERT_EQ(watch.told.size(), 2u);  // begins and ends
  EXPECT_EQ(watch.told[0].text, "java (pid 101, uid 0) still starts up after 6 epochs");
  EXPECT_EQ(watch.told[0].cause, "slow start");
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("its longest start took 3 epochs"));
  Start(watch, 102, 8, 10);  // as long as that one is usual now
  EXPECT_EQ(watch.told.size(), 2u);
}

TEST(LoadTest, AStartMayBeginLateInAnEpoch) {
  Watch watch(LoadFilter());
  Play(watch, 40, 0, Nothing, Nothing);
  for (int i = 0; i < 8; ++i) {
    Nothing(watch);
    watch.Process(100, "/usr/bin/java",
                  {{TELLTALE_PROCESS_RUN_NS, i == 0 ? 0.1e9 : 0.9e9},
                   {TELLTALE_PROCESS_TASK_NS, i == 0 ? 0.1e9 : 1e9},
                   {TELLTALE_PROCESS_FAULTS_MINOR, i == 0 ? 400 : 4e3},
                   {TELLTALE_PROCESS_RSS_BYTES, (0.1 + i) * 4e3 * 60 * 4096}});
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].cause, "slow start");
}

TEST(LoadTest, NobodyStartsUpOverAHoleInTime) {
  Watch watch(LoadFilter());
  Play(watch, 40, 0, Nothing, Nothing);
  for (int i = 0; i < 7; ++i) {
    if (i == 3) watch.now += 6 * storage::kHourNs;
    Nothing(watch);
    watch.Process(100, "/usr/bin/java",
                  {{TELLTALE_PROCESS_RUN_NS, 0.9e9},
                   {TELLTALE_PROCESS_FAULTS_MINOR, 4e3},
                   {TELLTALE_PROCESS_RSS_BYTES, (1 + i) * 4e3 * 60 * 4096}});
    watch.Show();
  }
  EXPECT_TRUE(watch.told.empty());
}

TEST(LoadTest, AJobThatGrowsUntilItEndsStartsForAsLong) {
  Watch watch(LoadFilter());
  Play(watch, 40, 0, Nothing, Nothing);
  Start(watch, 100, 4, 0);
  Play(watch, 5, 0, Nothing, Nothing);
  Start(watch, 101, 7, 0);
  Play(watch, 5, 0, Nothing, Nothing);
  ASSERT_EQ(watch.told.size(), 2u);  // begins and ends
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("its longest start took 4 epochs"));
  Start(watch, 102, 7, 0);
  EXPECT_EQ(watch.told.size(), 2u);
}

TEST(LoadTest, AStartThatTouchesHugePagesIsTold) {
  Watch watch(LoadFilter());
  Play(watch, 40, 0, Nothing, Nothing);
  for (int i = 1; i <= 9; ++i) {
    Nothing(watch);
    watch.Process(100, "/usr/bin/java",
                  {{TELLTALE_PROCESS_RUN_NS, 0.9e9},
                   {TELLTALE_PROCESS_FAULTS_MINOR, 5},
                   {TELLTALE_PROCESS_RSS_BYTES, i * 400e6}});
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].cause, "slow start");
}

// A shell touches its own pages anew after each fork.
TEST(LoadTest, WhatTouchesMemoryAndDoesNotGrowDoesNotStartUp) {
  Watch watch(LoadFilter());
  Play(watch, 40, 0, Nothing, Nothing);
  Start(watch, 100, 20, 10, false);
  EXPECT_TRUE(watch.told.empty());
}

void Forks(Watch& watch, uint32_t instances) {
  Nothing(watch);
  watch.Process(0, "/bin/sh", {{TELLTALE_PROCESS_RUN_NS, 1e9}});
  watch.body.mutable_processes()->mutable_rows()->rbegin()->set_instances(instances);
}

TEST(LoadTest, AForkStormIsAGrowingLoadAndAUsualBuildIsNone) {
  Watch storm(LoadFilter());
  for (int i = 0; i < 44; ++i) {
    Forks(storm, i < 40 ? 30 : 24'000);
    storm.Show();
  }
  ASSERT_EQ(storm.told.size(), 1u);
  EXPECT_EQ(storm.told[0].text, "sh is started 400 times a second, usually 0.5");
  EXPECT_THAT(storm.told[0].against, HasSubstr("each took 2.5 ms of CPU time"));
  Watch script(LoadFilter());
  for (int i = 0; i < 44; ++i) {
    Forks(script, i < 40 ? 30 : 12'000);
    script.Show();
  }
  EXPECT_TRUE(script.told.empty()) << "one after the other, as fast as a script can";
  Watch build(LoadFilter());
  for (int i = 0; i < 80; ++i) {
    Forks(build, i % 10 < 5 ? 24'000 : 12'000);
    build.Show();
  }
  EXPECT_TRUE(build.told.empty());
}

TEST(LoadTest, AStormInTwoCgroupsAtOnceLastsNoLongerThanOneInOne) {
  Watch watch(LoadFilter());
  const auto pass = [&watch](uint32_t instances) {
    for (const char* cgroup : {"/a", "/b"}) {
      Forks(watch, instances);
      watch.body.mutable_processes()->mutable_rows()->rbegin()->set_cgroup(watch.String(cgroup));
    }
    watch.Show();
  };
  for (int i = 0; i < 40; ++i) pass(30);
  pass(24'000);
  pass(30);
  EXPECT_TRUE(watch.told.empty()) << "one epoch of it, seen twice";
  for (int i = 0; i < 4; ++i) pass(24'000);
  EXPECT_EQ(watch.told.size(), 1u);
}

// What follows is watched too little to be judged: such a storm takes the sensor's budget away.
TEST(LoadTest, OfAStormOfForksTheFirstEpochIsEnough) {
  const auto told = [](uint32_t instances) {
    Watch watch(LoadFilter());
    for (int i = 0; i < 40; ++i) {
      Forks(watch, 30);
      watch.Show();
    }
    Forks(watch, instances);
    watch.Show();
    return watch.told.size();
  };
  EXPECT_EQ(told(240'000), 1u);
  EXPECT_EQ(told(150'000), 0u) << "2,500 a second must go on";
}

std::vector<Watch::Told> Ends(uint32_t code, uint32_t signal, int every) {
  Watch watch(CrashLoopFilter());
  Play(watch, 40, 8, Nothing, [&, i = 0](Watch& w) mutable {
    if (i++ % every != 0) return;
    w.Exit(900, "/usr/bin/app", code, signal);
    w.Exit(901, "/usr/bin/app", code, signal);
  });
  return watch.told;
}

TEST(CrashLoopTest, AProgramThatCrashesAgainAndAgainIsToldInItsSecondEpoch) {
  const auto told = Ends(0, 6, 1);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].text,
            "app (uid 0) crashes, is started again and crashes: 4 times in 2 min by signal 6 "
            "(SIGABRT), last pid 901");
  EXPECT_EQ(told[0].evidence, "it ended so in 2 epochs within 2 min");
  EXPECT_EQ(told[0].end_ns - told[0].start_ns, 120 * Watch::kSecond);
  EXPECT_TRUE(told[0].open);
}

// A library breaks the program of two users at once, and is mended for one of them.
TEST(CrashLoopTest, ThatOfOneUserEndsWithoutThatOfAnother) {
  Watch watch(CrashLoopFilter());
  Play(watch, 40, 8, Nothing, [epoch = 0](Watch& w) mutable {
    ++epoch;
    for (const uint32_t uid : {1000, 1001}) {
      if (uid == 1000 && epoch > 4) continue;
      w.Exit(900, "/usr/bin/app", 0, 6);
      w.body.mutable_events()->rbegin()->set_uid(uid);
    }
  });
  ASSERT_EQ(watch.told.size(), 3u);
  EXPECT_EQ(watch.told[0].subject, "/usr/bin/app (uid 1000)");
  EXPECT_EQ(watch.told[1].subject, "/usr/bin/app (uid 1001)");
  EXPECT_FALSE(watch.told[2].open);
  EXPECT_EQ(watch.told[2].subject, watch.told[0].subject);
}

// Crashes `times` times, so many epochs apart; then so many follow.
std::vector<Watch::Told> CrashesApart(uint64_t length_s, int times, int apart, int after = 0) {
  Watch watch(CrashLoopFilter());
  watch.length_s = length_s;
  for (int i = 0; i < 40; ++i) watch.Show();
  for (int i = 0; i < times * apart + after; ++i) {
    if (i % apart == 0 && i < times * apart) watch.Exit(900, "/usr/sbin/daemon", 0, 11);
    watch.Show();
  }
  return watch.told;
}

TEST(CrashLoopTest, AServiceThatCrashesEveryFewMinutesForDaysIsToldOnce) {
  const auto told = CrashesApart(60, 1'000, 3);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].text,
            "daemon (uid 0) crashes, is started again and crashes: 3 times in 8 min by signal 11 "
            "(SIGSEGV), last pid 900");
  EXPECT_EQ(told[0].evidence, "it ended so in 3 epochs within 8 min");
  EXPECT_TRUE(told[0].open);
}

TEST(CrashLoopTest, ItIsOverWhenTheNextCrashIsLongOverdue) {
  const auto told = CrashesApart(60, 5, 3, 10);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_FALSE(told[1].open);
  EXPECT_EQ(told[0].start_ns, told[1].start_ns);
  EXPECT_LE(told[1].end_ns - told[1].start_ns, 12 * 60 * kSecond);
}

TEST(CrashLoopTest, WithShortEpochsACrashNowAndThenIsALoopAsWell) {
  EXPECT_EQ(CrashesApart(5, 10, 3).size(), 1u);
}

TEST(CrashLoopTest, ThreeTimesWithinHalfAnHourAreALoopAndFewerAreNone) {
  EXPECT_EQ(CrashesApart(60, 3, 15).size(), 1u);
  EXPECT_TRUE(CrashesApart(60, 20, 16).empty());
  EXPECT_TRUE(CrashesApart(60, 2, 15, 60).empty());
}

void KillForMemory(Watch& watch, const std::string& exe, uint32_t count) {
  v1::DiscreteEvent& event = *watch.body.add_events();
  event.set_type(v1::EVENT_TYPE_OOM);
  event.set_exe(watch.String(exe));
  event.set_cgroup(watch.String("/kubepods/shop"));
  event.set_count(count);
}

// As in a container with too low a limit, every twenty seconds.
TEST(CrashLoopTest, AProgramThatIsKilledForWantOfMemoryAgainAndAgainIsTold) {
  Watch watch(CrashLoopFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    KillForMemory(w, "/usr/bin/app", 3);
    w.Exit(0, "/usr/bin/app", 0, 9);
    w.body.mutable_events()->rbegin()->set_count(3);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text,
            "app (uid 0) is killed for want of memory, is started again and killed: 6 times in 2 "
            "min, in cgroup /kubepods/shop");
  EXPECT_EQ(watch.told[0].cgroup, "/kubepods/shop");
  EXPECT_EQ(watch.told[0].cause, "disappearance, again and again: killed for want of memory");
}

TEST(CrashLoopTest, WhereTheKernelTellsOfItsVictimThePidOnlyTheExitSaysWhatItWas) {
  Watch watch(CrashLoopFilter());
  uint32_t pid = 900;
  Play(watch, 40, 4, Nothing, [&](Watch& w) {
    v1::DiscreteEvent& event = *w.body.add_events();
    event.set_type(v1::EVENT_TYPE_OOM);
    event.set_pid(++pid);
    w.Exit(pid, "/usr/bin/app", 0, 9);
    w.Exit(pid + 1'000, "/usr/bin/stopped", 0, 9);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text,
            "app (uid 0) is killed for want of memory, is started again and killed: 2 times in 2 "
            "min, last pid 902");
}

TEST(CrashLoopTest, OfOneThatEndsNowSoNowSoTheLastTimeIsTold) {
  Watch watch(CrashLoopFilter());
  Play(watch, 40, 2, Nothing, [epoch = 0](Watch& w) mutable {
    if (epoch++ == 0) {
      KillForMemory(w, "/usr/bin/app", 1);
    } else {
      w.Exit(900, "/usr/bin/app", 0, 6);
    }
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text,
            "app (uid 0) ends abnormally, is started again and does so: 2 times in 2 min, the last "
            "time by signal 6 (SIGABRT), last pid 900");
}

TEST(CrashLoopTest, ProgramsThatFailAreEndedOrCrashOnceAreNone) {
  EXPECT_TRUE(Ends(1, 0, 1).empty());
  EXPECT_TRUE(Ends(0, 15, 1).empty());
  EXPECT_TRUE(Ends(0, 9, 1).empty());
  EXPECT_TRUE(Ends(0, 11, 8).empty());
}

}  // namespace
}  // namespace telltale::filter
