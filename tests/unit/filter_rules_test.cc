// The rules on epochs with and without the fault each speaks of.

#include <gmock/gmock.h>

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
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("98 % of it in 3 places"));
  EXPECT_THAT(watch.told[0].against, HasSubstr("without hardware counters"));
  Play(watch, 3, 0, Nothing, Nothing);
  ASSERT_EQ(watch.told.size(), 2u);
  EXPECT_FALSE(watch.told[1].open);
  EXPECT_EQ(watch.told[1].start_ns, began);
}

TEST(BusyLoopTest, WorkThatCallsTheKernelOrIsAllOverTheCodeIsNone) {
  Watch calls(BusyLoopFilter());
  Play(calls, 40, 20, Nothing, [](Watch& w) { Spin(w, 500, 0.97); });
  EXPECT_TRUE(calls.told.empty());
  Watch spread(BusyLoopFilter());
  Play(spread, 40, 20, Nothing, [](Watch& w) { Spin(w, 1, 0.3); });
  EXPECT_TRUE(spread.told.empty());
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

void Wait(Watch& watch, uint32_t pid, const std::string& exe, const char* sub, double threads,
          double times) {
  watch.Process(pid, exe,
                {{watch.Share("blocking", sub, true), threads * 1e9},
                 {watch.Share("blocking", sub, false), times}});
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
            "postgres (pid 812, uid 0) waited 42 s of 60 s in 96 waits for a lock; its waits are "
            "ended by writer (pid 90, uid 0), itself waiting for a disk");
  EXPECT_EQ(told.cause, "blocked on a lock");
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
  });
  EXPECT_TRUE(watch.told.empty());
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
  EXPECT_THAT(watch.told[0].text, HasSubstr("goes round a call that fails (number 44, EPIPE)"));
  EXPECT_EQ(watch.told[0].cause, "busy loop around a failing call");
}

TEST(FailingCallTest, SomeFailuresAmongMuchWorkAreUsual) {
  Watch watch(FailingCallFilter());
  Play(watch, 40, 20, Nothing, [](Watch& w) { Fails(w, 2e4, 3e5); });
  EXPECT_TRUE(watch.told.empty());
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
