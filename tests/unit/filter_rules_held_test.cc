// The rule about processes that are held from the CPU, on epochs with and without such.

#include <gmock/gmock.h>

#include "collector/filter/detect/rules.h"
#include "sketch/layout.h"
#include "tests/unit/filter_play.h"

namespace telltale::filter {
namespace {

using ::testing::HasSubstr;

void Queued(Watch& watch, double queued, double busy) {
  watch.Rate("cpu", "user", busy);
  watch.Process(812, "/usr/bin/app",
                {{TELLTALE_PROCESS_QUEUE_NS, queued * 1e9}, {TELLTALE_PROCESS_RUN_NS, 0.1e9}});
}

TEST(HeldFromCpuTest, AProcessThatMayNotRunOnAnIdleNodeIsHeldAbnormally) {
  Watch watch(HeldFromCpuFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) { Queued(w, 0.9, 0.5); });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("held from the CPU for 54 s of 60 s"));
  EXPECT_THAT(watch.told[0].text, HasSubstr("3.5 of 4 CPUs had nothing to do"));
}

// Who else of its host wanted the CPUs, an agent of one cgroup does not see.
TEST(HeldFromCpuTest, WhereOneCgroupIsWatchedAloneOnlyALimitIsTold) {
  for (const bool limited : {false, true}) {
    Watch watch(HeldFromCpuFilter(), {}, "/shop.slice");
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      Queued(w, 0.9, 0.5);
      if (!limited) return;
      v1::ProcessRow& app = *w.body.mutable_processes()->mutable_rows()->rbegin();
      app.set_throttled_cgroup(w.String("/shop.slice"));
      app.set_throttled_periods(580);
      app.set_throttled_ns(51'000'000'000);
    });
    EXPECT_EQ(watch.told.size(), limited ? 1u : 0u);
  }
}

// Beside so many others that wait for half of the time.
std::string AgainstWith(int others, double busy) {
  Watch watch(HeldFromCpuFilter());
  Play(watch, 40, 2, Nothing, [&](Watch& w) {
    Queued(w, 0.9, busy);
    for (int i = 0; i < others; ++i) {
      w.Process(900 + static_cast<uint32_t>(i), "/usr/bin/peer",
                {{TELLTALE_PROCESS_QUEUE_NS, 0.48e9}, {TELLTALE_PROCESS_RUN_NS, 0.4e9}});
    }
  });
  EXPECT_EQ(watch.told.size(), 1u);
  return watch.told.empty() ? "" : watch.told[0].against;
}

TEST(HeldFromCpuTest, ThatOthersWaitAsLongSpeaksAgainst) {
  EXPECT_THAT(AgainstWith(0, 3.9), ::testing::StartsWith("a process bound to one busy CPU"));
  EXPECT_THAT(AgainstWith(3, 3.9), HasSubstr("3 other processes were queued for half as long or "
                                             "longer: the node may lack CPUs; "));
  EXPECT_THAT(AgainstWith(1, 0.5), HasSubstr("1 other process was queued for half as long or "
                                             "longer: what holds them all may be meant to; "));
}

// A server whose two hundred threads wake for each event, and wait for each other.
TEST(HeldFromCpuTest, ThreadsThatWakeTogetherAreNotHeld) {
  Watch watch(HeldFromCpuFilter());
  Play(watch, 40, 20, Nothing, [](Watch& w) {
    w.Rate("cpu", "user", 2);
    w.Process(812, "/usr/bin/app",
              {{TELLTALE_PROCESS_QUEUE_NS, 30e9},
               {TELLTALE_PROCESS_RUN_NS, 0.4e9},
               {w.Share("sched_delay", "woken", false), 60e3}});
  });
  EXPECT_TRUE(watch.told.empty());
}

// With a sample of one of its waits, on a node most of which is idle.
std::vector<Watch::Told> HeldWith(uint64_t priority, uint64_t policy, double instead_ran) {
  Watch watch(HeldFromCpuFilter());
  Play(watch, 40, 4, Nothing, [&](Watch& w) {
    Queued(w, 0.9, 1.5);
    w.Process(77, "/usr/bin/control", {{TELLTALE_PROCESS_RUN_NS, instead_ran * 1e9}});
    v1::FoldedSample& sample = w.Label("sched_delay", "preempted", "/usr/bin/app", 0.8);
    sample.mutable_exemplar()->set_pid(812);
    sample.mutable_exemplar()->set_detail(0, priority);
    sample.mutable_exemplar()->set_detail(1, policy);
    sample.mutable_exemplar()->set_cpu(3);
    v1::FoldedSample& tick = w.Label("cpu", "user", "/usr/bin/control", 0.4);
    tick.mutable_exemplar()->set_pid(77);
    tick.mutable_exemplar()->set_cpu(3);
  });
  return watch.told;
}

TEST(HeldFromCpuTest, SaysWhoRanOnItsCpuMeanwhile) {
  const auto told = HeldWith(120, 0, 0.95);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0].text, HasSubstr("; on its CPU ran control (pid 77, uid 0), 57 s of 60 s"));
  const auto another = HeldWith(120, 0, 0.1).at(0);
  EXPECT_EQ(another.text.find("control"), std::string::npos) << "it ran there, too";
}

TEST(HeldFromCpuTest, NamesTheRealTimeTaskAndItsPolicyAlsoWithoutASampleOfIt) {
  Watch watch(HeldFromCpuFilter());
  Play(watch, 40, 4, Nothing, [&](Watch& w) {
    Queued(w, 0.9, 1.5);
    w.Process(77, "/usr/bin/control", {{TELLTALE_PROCESS_RUN_NS, 0.95e9}});
    v1::ProcessRow& control = *w.body.mutable_processes()->mutable_rows()->rbegin();
    control.set_policy(1);
    control.set_real_time_priority(50);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("; on its CPU ran control (pid 77, uid 0), a real-time "
                                            "task (SCHED_FIFO, priority 50), 57 s of 60 s"));
  EXPECT_EQ(watch.told[0].cause, "held from the CPU abnormally: by a real-time task");
}

// On a node that is busy or not, with a turn soon or late: the limit is known to hold it.
TEST(HeldFromCpuTest, ACgroupsCpuLimitIsNamedWithItsPeriods) {
  const auto told = [](double throttled, double busy, uint64_t watched_s = 60) {
    Watch watch(HeldFromCpuFilter());
    watch.unwatched_s = 60 - watched_s;
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      Queued(w, 0.015 * static_cast<double>(watched_s), busy);
      v1::ProcessRow& app = *w.body.mutable_processes()->mutable_rows()->rbegin();
      app.set_throttled_cgroup(w.String("/shop.slice"));
      app.set_throttled_periods(580);
      app.set_throttled_ns(static_cast<uint64_t>(throttled * 60e9));
    });
    return watch.told;
  };
  for (const double busy : {0.5, 3.9}) {
    const auto limited = told(0.85, busy);
    ASSERT_EQ(limited.size(), 1u) << busy;
    EXPECT_THAT(limited[0].text,
                HasSubstr("held from the CPU for 54 s of 60 s: throttled, cgroup /shop.slice was "
                          "over its CPU limit in 580 periods, 51 s of 60 s"));
    EXPECT_EQ(limited[0].cause, "held from the CPU abnormally: the CPU limit of its cgroup");
    EXPECT_EQ(limited[0].cgroup, "/shop.slice");
    EXPECT_THAT(limited[0].against, HasSubstr("it got 0.1 CPUs: a limit that is meant"));
  }
  EXPECT_THAT(told(0.1, 0.5).at(0).text, ::testing::Not(HasSubstr("throttled")))
      << "a limit that took a ninth of what it waited is not why";
  EXPECT_THAT(told(0.85, 0.5, 31).at(0).text,
              HasSubstr("over its CPU limit in 580 periods, 26.3 s of 31 s"));
}

TEST(HeldFromCpuTest, WhoWasGivenALowPriorityWaitsAsItIsToldTo) {
  EXPECT_TRUE(HeldWith(139, 0, 0.95).empty()) << "nice 19";
  EXPECT_TRUE(HeldWith(120, 5, 0.95).empty()) << "to run where nobody else wants to";
}

// On four CPUs that are all taken; it waits so many times a second for its turn.
std::vector<Watch::Told> OnABusyNode(double times, double wanting, uint64_t priority) {
  Watch watch(HeldFromCpuFilter());
  Play(watch, 40, 20, Nothing, [&](Watch& w) {
    w.Rate("cpu", "user", 3.9);
    w.Rate("sched_delay", "preempted", wanting - 3.9);
    w.Process(812, "/usr/bin/app",
              {{TELLTALE_PROCESS_QUEUE_NS, 0.9e9},
               {TELLTALE_PROCESS_RUN_NS, 0.05e9},
               {w.Share("sched_delay", "preempted", false), times}});
    v1::FoldedSample& sample = w.Label("sched_delay", "preempted", "/usr/bin/app", 0.8);
    sample.mutable_exemplar()->set_pid(812);
    sample.mutable_exemplar()->set_detail(0, priority);
  });
  return watch.told;
}

// On a node where CPUs change hands 100,000 times a second its row tells of no wait it ended.
TEST(HeldFromCpuTest, WhereARowCannotTellOfTurnsTheyAreNotTakenForNone) {
  const auto told = [](double took_s, uint32_t duty_ppm, uint64_t state = 0) {
    Watch watch(HeldFromCpuFilter());
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      w.Rate("cpu", "user", 3.9);
      w.Rate("sched_delay", "preempted", 8);
      w.Process(812, "/usr/bin/app",
                {{TELLTALE_PROCESS_QUEUE_NS, 0.6e9}, {TELLTALE_PROCESS_RUN_NS, 0.25e9}});
      w.Others(900, {{w.Share("sched_delay", "preempted", false), 1e5}});
      v1::FoldedSample& sample = w.Label("sched_delay", "preempted", "/usr/bin/app", 0.5);
      sample.mutable_exemplar()->set_pid(812);
      sample.mutable_exemplar()->set_detail(0, 120);
      sample.mutable_exemplar()->set_detail(3, state);
      sample.mutable_exemplar()->set_weight(static_cast<uint64_t>(took_s * 1e9));
      sample.mutable_exemplar()->set_duty_ppm(duty_ppm);
    });
    return watch.told;
  };
  EXPECT_TRUE(told(0.01, 0).empty()) << "its turn comes as anybody's";
  EXPECT_TRUE(told(0.64, 15'625).empty()) << "10 ms that stand for 64 times as much";
  EXPECT_TRUE(told(0.95, 0, TELLTALE_WAIT_SEVERAL).empty()) << "many turns in one sum";
  EXPECT_TRUE(told(0.95, 0, TELLTALE_WAIT_OPEN_SEVERAL).empty()) << "and the last goes on";
  EXPECT_EQ(told(0.95, 0, TELLTALE_WAIT_OPEN).size(), 1u);
  const auto starved = told(0.95, 0);
  ASSERT_EQ(starved.size(), 1u);
  EXPECT_THAT(starved[0].text, HasSubstr("for 36 s of 60 s, 950 ms at a time, where its turn"));
}

TEST(HeldFromCpuTest, OnABusyNodeWaitingIsFairSharingUnlessItsTurnDoesNotCome) {
  EXPECT_TRUE(OnABusyNode(40, 8, 120).empty());
  const auto told = OnABusyNode(1, 8, 120);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0].text, HasSubstr("held from the CPU for 54 s of 60 s, 900 ms at a time, where "
                                      "its turn ought to come after 8"));
  EXPECT_TRUE(OnABusyNode(1, 8, 139).empty()) << "it was given the lowest priority";
  EXPECT_TRUE(OnABusyNode(1, 400, 120).empty()) << "a hundred wait for each CPU";
}

// A thread that may run anywhere waits at most while all CPUs are busy: of four that were busy half
// of the time, half of the epoch.
TEST(HeldFromCpuTest, WhoWaitsNoLongerThanAllCpusMayHaveBeenBusyIsNotHeld) {
  const auto told = [](double queued, double ran, std::map<uint32_t, double> more) {
    Watch watch(HeldFromCpuFilter());
    Play(watch, 40, 20, Nothing, [&](Watch& w) {
      w.Rate("cpu", "user", 2.8);
      more[TELLTALE_PROCESS_QUEUE_NS] = queued * 1e9;
      more[TELLTALE_PROCESS_RUN_NS] = ran * 1e9;
      w.Process(812, "/usr/bin/xz", more);
    });
    return watch.told.size();
  };
  EXPECT_EQ(told(0.65, 0.2, {{TELLTALE_PROCESS_THREADS, 1}}), 0u);
  EXPECT_EQ(told(0.85, 0.1, {{TELLTALE_PROCESS_THREADS, 1}}), 1u);
  EXPECT_EQ(told(2.7, 1.3, {}), 0u) << "four threads that want a CPU at the same time";
  EXPECT_EQ(told(2.7, 0.4, {{TELLTALE_PROCESS_THREADS, 3}}), 1u) << "three can wait for 2.1";
  EXPECT_EQ(told(7.2, 0.3, {{TELLTALE_PROCESS_THREADS, 200}}), 0u);
}

}  // namespace
}  // namespace telltale::filter
