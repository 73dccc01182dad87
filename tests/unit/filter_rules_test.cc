// The rules on epochs with and without the fault each speaks of.

#include <gmock/gmock.h>

#include <cerrno>

#include "collector/filter/detect/rules.h"
#include "tests/unit/filter_watch.h"

namespace telltale::filter {
namespace {

using ::testing::HasSubstr;
constexpr uint64_t kSecond = Watch::kSecond;

// `quiet` epochs of usual load, then `faulty` ones with the fault.
template <typename Usual, typename Fault>
void Play(Watch& watch, int quiet, int faulty, Usual usual, Fault fault) {
  for (int i = 0; i < quiet + faulty; ++i) {
    usual(watch);
    if (i >= quiet) fault(watch);
    watch.Show();
  }
}

void Nothing(Watch& watch) {
  watch.Rate("cpu", "user", 0.2);
  watch.Process(1, "/usr/bin/other", {{TELLTALE_PROCESS_RUN_NS, 0.1e9}});
}

void Spin(Watch& watch, double calls, double of_program) {
  watch.Process(812, "/usr/bin/app",
                {{TELLTALE_PROCESS_RUN_NS, 0.99e9},
                 {TELLTALE_PROCESS_FAULTS_MINOR, 0.1},
                 {watch.Share("syscall", "ok", false), calls}});
  watch.Label("cpu", "user", "/usr/bin/app", of_program);
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

TEST(BusyLoopTest, ItSpeaksAfterAsManyEpochsAsItIsToldToLearn) {
  const auto spoken = [](double learn) {
    Watch watch(BusyLoopFilter(), {{"learn", learn}});
    Play(watch, 10, 4, Nothing, [](Watch& w) { Spin(w, 1, 0.97); });
    return watch.told.size();
  };
  EXPECT_EQ(spoken(10), 1u);
  EXPECT_EQ(spoken(13), 0u);  // the last of them alone is not two in a row
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
  Play(spread, 40, 20, Nothing, [](Watch& w) {
    Spin(w, 1, 0.3);
    for (int i = 0; i < 7; ++i) w.Label("cpu", "user", "/usr/bin/app", 0.09 + 0.001 * i);
  });
  EXPECT_TRUE(spread.told.empty());
  Watch unseen(BusyLoopFilter());
  Play(unseen, 40, 20, Nothing, [](Watch& w) { Spin(w, 1, 0.1); });
  EXPECT_TRUE(unseen.told.empty());
}

// Of a program in one loop, on two CPUs that four others want, the samples vouched for 42 %.
TEST(BusyLoopTest, WhatSamplesVouchForMayBeHalfOfItsTime) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    Spin(w, 1, 0.3);
    w.Label("cpu", "user", "/usr/bin/app", 0.1);
    w.Label("cpu", "user", "/usr/bin/other", 0.5);
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

TEST(BusyLoopTest, WithoutSystemCallsWatchedItCannotTell) {
  Watch watch(BusyLoopFilter());
  Play(watch, 40, 20, Nothing, [](Watch& w) {
    Spin(w, 0, 0.97);
    w.Vital("syscall").set_unwatched_ns(60 * kSecond);
  });
  EXPECT_TRUE(watch.told.empty());
}

// In a futex if `futex`, else, of locks, in a mutex of the kernel.
void Wait(Watch& watch, uint32_t pid, const std::string& exe, const char* sub, double threads,
          double times, bool futex = false) {
  const char* kind = futex ? "futex" : "mutex";
  std::map<uint32_t, double> columns = {{watch.Share("blocking", sub, true), threads * 1e9},
                                        {watch.Share("blocking", sub, false), times}};
  if (std::string(sub) == "lock") {
    columns[watch.Share("lock", kind, true)] = threads * 1e9;
    columns[watch.Share("lock", kind, false)] = times;
  }
  watch.Process(pid, exe, columns);
}

TEST(BlockedTest, SaysForWhatItWaitsWhoEndsItAndWhatThatOneWaitsFor) {
  Watch watch(BlockedFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    Wait(w, 812, "/usr/lib/postgres", "lock", 0.7, 1.6);
    Wait(w, 90, "/usr/bin/writer", "disk", 0.9, 5);
    v1::FoldedSample& sample = w.Label("blocking", "lock", "/usr/lib/postgres", 0.6);
    sample.mutable_exemplar()->set_pid(812);
    sample.mutable_exemplar()->mutable_waker()->set_pid(90);
  });
  ASSERT_EQ(watch.told.size(), 2u);
  const Watch::Told& told =
      watch.told[0].subject.starts_with("writer") ? watch.told[1] : watch.told[0];
  EXPECT_EQ(told.text,
            "postgres (pid 812, uid 0) waited 42 s of 60 s in 96 waits for a lock of the kernel; "
            "its waits are "
            "ended by writer (pid 90, uid 0), itself waiting for a disk");
  EXPECT_EQ(told.cause, "blocked on a lock of the kernel");
}

TEST(BlockedTest, NamesTheOwnerOfALockWhereTheKernelTells) {
  Watch watch(BlockedFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    Wait(w, 812, "/usr/lib/postgres", "lock", 0.7, 1.6);
    v1::FoldedSample& sample = w.Label("lock", "mutex", "/usr/lib/postgres", 0.6);
    sample.mutable_exemplar()->set_pid(812);
    sample.mutable_exemplar()->set_detail(1, 1);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("it is held by other (pid 1, uid 0)"));
}

TEST(BlockedTest, WaitsOfASecondAndWaitsForRequestsAreUsual) {
  Watch watch(BlockedFilter());
  Play(watch, 40, 20, Nothing, [](Watch& w) {
    Wait(w, 812, "/usr/lib/postgres", "disk", 0.3, 1.6);
    Wait(w, 813, "/usr/sbin/nginx", "socket", 4, 100);
    Wait(w, 814, "/usr/bin/pool", "lock", 8, 100, true);  // threads that wait for work
  });
  EXPECT_TRUE(watch.told.empty());
}

// A process that works half of the time, and then waits in a futex or for a socket.
void Works(Watch& watch) {
  Nothing(watch);
  watch.Process(812, "/usr/bin/app", {{TELLTALE_PROCESS_RUN_NS, 0.5e9}});
}
void Stalls(Watch& watch, const char* sub, const char* lock, uint32_t waker) {
  Nothing(watch);
  std::map<uint32_t, double> columns = {{TELLTALE_PROCESS_RUN_NS, 0.01e9},
                                        {watch.Share("blocking", sub, true), 7e9},
                                        {watch.Share("blocking", sub, false), 2}};
  if (lock != nullptr) {
    columns[watch.Share("lock", lock, true)] = 7e9;
    columns[watch.Share("lock", lock, false)] = 2;
  }
  watch.Process(812, "/usr/bin/app", columns);
  if (waker == 0) return;
  v1::FoldedSample& sample = watch.Label("blocking", sub, "/usr/bin/app", 6);
  sample.mutable_exemplar()->set_pid(812);
  sample.mutable_exemplar()->mutable_waker()->set_pid(waker);
}
template <typename Fault>
std::vector<Watch::Told> AfterWork(Fault fault) {
  Watch watch(BlockedFilter());
  for (int i = 0; i < 40; ++i) {
    Works(watch);
    watch.Show();
  }
  for (int i = 0; i < 4; ++i) {
    fault(watch);
    watch.Show();
  }
  return watch.told;
}

TEST(BlockedTest, AWorkerThatStandsInAFutexIsToldWithWhoEndsItsWaits) {
  const auto told = AfterWork([](Watch& w) {
    Stalls(w, "lock", "futex", 90);
    w.Process(90, "/usr/bin/writer", {{w.Share("blocking", "timer", true), 0.9e9}});
  });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0].text, HasSubstr("for a lock in its own memory (futex); its waits are ended "
                                      "by writer (pid 90, uid 0), asleep on a timer meanwhile"));
  EXPECT_THAT(told[0].evidence, HasSubstr("it ran 0.01 CPUs where 0.5 are usual"));
  EXPECT_THAT(told[0].against, HasSubstr("a load that went away"));
  // A convoy within one process.
  const auto convoy = AfterWork([](Watch& w) { Stalls(w, "lock", "futex", 812); });
  ASSERT_EQ(convoy.size(), 1u);
  EXPECT_THAT(convoy[0].text, HasSubstr("its waits are ended by another thread of its own"));
}

TEST(BlockedTest, NobodyNamedOrNoLessWorkIsWaitingForWork) {
  EXPECT_TRUE(AfterWork([](Watch& w) { Stalls(w, "lock", "futex", 0); }).empty());
  Watch idle(BlockedFilter());
  Play(idle, 40, 20, Nothing, [](Watch& w) { Stalls(w, "lock", "futex", 90); });
  EXPECT_TRUE(idle.told.empty()) << idle.told[0].text;
}

TEST(BlockedTest, ASocketIsBlamedWhereSegmentsAreLostOrThePeerIsStuck) {
  const auto lost = AfterWork([](Watch& w) {
    Stalls(w, "socket", nullptr, 0);
    w.Rate("retransmit", "segments", 3);
  });
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_THAT(lost[0].text, HasSubstr("for a socket"));
  EXPECT_THAT(lost[0].evidence, HasSubstr("3 segments/s are sent again"));
  const auto stuck = AfterWork([](Watch& w) {
    Stalls(w, "socket", nullptr, 90);
    Wait(w, 90, "/usr/bin/db", "disk", 0.9, 5);
  });
  ASSERT_EQ(stuck.size(), 2u);
  const Watch::Told& told = stuck[0].subject.starts_with("app") ? stuck[0] : stuck[1];
  EXPECT_THAT(told.text, HasSubstr("ended by db (pid 90, uid 0), itself waiting for a disk"));
  // No more requests: the peer is well and nothing is lost.
  EXPECT_TRUE(AfterWork([](Watch& w) { Stalls(w, "socket", nullptr, 1); }).empty());
}

TEST(BlockedTest, WhatIsUsualSurvivesARestart) {
  Watch first(BlockedFilter()), second(BlockedFilter());
  for (int i = 0; i < 40; ++i) {
    Works(first);
    first.Show();
  }
  ASSERT_TRUE(second.Load(first.Save()));
  second.now = first.now;
  for (int i = 0; i < 4; ++i) {
    Stalls(second, "lock", "futex", 812);
    second.Show();
  }
  EXPECT_EQ(second.told.size(), 1u);
}

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

TEST(HeldFromCpuTest, OnABusyNodeWaitingIsFairSharing) {
  Watch watch(HeldFromCpuFilter());
  Play(watch, 40, 20, Nothing, [](Watch& w) { Queued(w, 0.9, 3.9); });
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
void Start(Watch& watch, uint32_t pid, int epochs, int quiet) {
  for (int i = 0; i < epochs + quiet; ++i) {
    Nothing(watch);
    watch.Process(
        pid, "/usr/bin/java",
        {{TELLTALE_PROCESS_RUN_NS, 0.9e9}, {TELLTALE_PROCESS_FAULTS_MINOR, i < epochs ? 4e3 : 20}});
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

void Forks(Watch& watch, uint32_t instances) {
  Nothing(watch);
  watch.Process(0, "/bin/sh", {{TELLTALE_PROCESS_RUN_NS, 1e9}});
  watch.body.mutable_processes()->mutable_rows()->rbegin()->set_instances(instances);
}

TEST(LoadTest, AForkStormIsAGrowingLoadAndAUsualBuildIsNone) {
  Watch storm(LoadFilter());
  for (int i = 0; i < 44; ++i) {
    Forks(storm, i < 40 ? 30 : 6000);
    storm.Show();
  }
  ASSERT_EQ(storm.told.size(), 1u);
  EXPECT_EQ(storm.told[0].text, "sh is started 100 times a second, usually 0.5");
  Watch build(LoadFilter());
  for (int i = 0; i < 80; ++i) {
    Forks(build, i % 10 < 5 ? 6000 : 3000);
    build.Show();
  }
  EXPECT_TRUE(build.told.empty());
}

TEST(UngratifiedIoTest, RequestsThatAreNotAnsweredAndThoseThatFailAreTold) {
  Watch hangs(UngratifiedIoFilter());
  Play(hangs, 40, 4, Nothing, [](Watch& w) {
    w.Rate("disk_io", "write_issued", 20e6);
    w.Rate("disk_io", "write_done", 5e6);
  });
  ASSERT_EQ(hangs.told.size(), 1u);
  EXPECT_EQ(hangs.told[0].text, "disk writes are not answered: 20 MB/s asked, 5 MB/s done");
  Watch fails(UngratifiedIoFilter());
  Play(fails, 40, 4, Nothing, [](Watch& w) {
    w.Rate("disk_io", "read_issued", 1e6);
    w.Rate("disk_io", "read_done", 1e6);
    w.Label("disk_io", "read_done", "/usr/bin/reader", 1e6).mutable_exemplar()->set_detail(5, 5);
  });
  ASSERT_EQ(fails.told.size(), 1u);
  EXPECT_EQ(fails.told[0].text, "disk reads fail with EIO, of /usr/bin/reader");
}

// Requests end in an interrupt, so what failed names nobody.
TEST(UngratifiedIoTest, WhoAsksTheDeviceThatFailsIsNamed) {
  Watch watch(UngratifiedIoFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    w.Rate("disk_io", "read_issued", 9e6);
    w.Rate("disk_io", "read_done", 9e6);
    w.Label("disk_io", "read_issued", "/usr/bin/elsewhere", 8e6).set_label(2, 7);
    w.Label("disk_io", "read_issued", "/usr/bin/reader", 1e6).set_label(2, 8);
    v1::FoldedSample& failed = w.Label("disk_io", "read_done", "", 1e6);
    failed.set_label(2, 8);
    failed.mutable_exemplar()->set_detail(5, 5);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text, "disk reads fail with EIO, of /usr/bin/reader");
  EXPECT_EQ(watch.told[0].subject, "/usr/bin/reader");
}

TEST(UngratifiedIoTest, ABusyDiskThatAnswersIsNone) {
  Watch watch(UngratifiedIoFilter());
  Play(watch, 40, 20, Nothing, [](Watch& w) {
    w.Rate("disk_io", "write_issued", 200e6);
    w.Rate("disk_io", "write_done", 190e6);
  });
  EXPECT_TRUE(watch.told.empty());
}

void Kernel(Watch& watch, double user, double kernel) {
  watch.Rate("cpu", "user", user);
  watch.Rate("cpu", "kernel", kernel);
  watch.Rate("sched_delay", "woken", 3);
  watch.Process(77, "", {{TELLTALE_PROCESS_SYSTEM_NS, 2e9}});
  watch.body.mutable_processes()->mutable_rows()->rbegin()->set_comm(watch.String("kswapd0"));
}

TEST(KernelBottleneckTest, AKernelThatTakesTheCpusIsNamed) {
  Watch watch(KernelBottleneckFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) { Kernel(w, 0.3, 3.5); });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text,
            "the kernel takes 3.5 of 4 CPUs and processes wait for them; most of it is [kswapd0] "
            "(pid 77, uid 0)");
}

TEST(KernelBottleneckTest, AFullNodeOfUserWorkIsNone) {
  Watch watch(KernelBottleneckFilter());
  Play(watch, 40, 20, Nothing, [](Watch& w) { Kernel(w, 3.3, 0.6); });
  EXPECT_TRUE(watch.told.empty());
}

void Thrash(Watch& watch, double available) {
  watch.body.mutable_gauges()->set_memory_available_bytes(static_cast<uint64_t>(available * 16e9));
  watch.Process(812, "/usr/bin/app", {{TELLTALE_PROCESS_FAULTS_MAJOR, 400}});
}

TEST(LowMemoryTest, FaultsFromDiskWithLittleMemoryLeft) {
  Watch watch(LowMemoryFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) { Thrash(w, 0.03); });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("memory is low, 480 MB available"));
}

TEST(LowMemoryTest, FaultsFromDiskWithPlentyAreAStart) {
  Watch watch(LowMemoryFilter());
  Play(watch, 40, 20, Nothing, [](Watch& w) { Thrash(w, 0.5); });
  EXPECT_TRUE(watch.told.empty());
}

TEST(LowMemoryTest, ACgroupThatReclaimsIsLowOfItsOwn) {
  Watch watch(LowMemoryFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    Thrash(w, 0.5);
    w.Rate("reclaim", "cgroup", 0.3);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].cause, "low memory in a cgroup");
}

}  // namespace
}  // namespace telltale::filter
