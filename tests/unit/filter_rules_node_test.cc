// The rules about a node's disks, kernel and memory, on epochs with and without the fault each
// speaks of.

#include <gmock/gmock.h>

#include "collector/filter/detect/rules.h"
#include "tests/unit/filter_play.h"

namespace telltale::filter {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_EQ(fails.told[0].text, "reads of a disk fail with EIO, those of /usr/bin/reader");
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
  EXPECT_EQ(watch.told[0].text, "reads of a disk fail with EIO, those of /usr/bin/reader");
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

void Thrash(Watch& watch, double available, double reclaims = 0) {
  watch.body.mutable_gauges()->set_memory_available_bytes(static_cast<uint64_t>(available * 16e9));
  watch.Process(
      812, "/usr/bin/app",
      {{TELLTALE_PROCESS_FAULTS_MAJOR, 400}, {watch.Share("reclaim", "cgroup", false), reclaims}});
}

TEST(LowMemoryTest, FaultsFromDiskWithLittleMemoryLeft) {
  Watch watch(LowMemoryFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) { Thrash(w, 0.03); });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("memory is low, 480 MB available"));
}

TEST(LowMemoryTest, OfProcessesThatTakeTurnsAtFaultingTheNodeIsTold) {
  Watch watch(LowMemoryFilter());
  int epoch = 0;
  Play(watch, 40, 6, Nothing, [&epoch](Watch& w) {
    const bool odd = ++epoch % 2 == 1;
    Thrash(w, 0.03);
    w.Process(813, "/usr/bin/app", {{TELLTALE_PROCESS_FAULTS_MAJOR, odd ? 300 : 500}});
  });
  ASSERT_EQ(watch.told.size(), 1u);
}

TEST(LowMemoryTest, FaultsFromDiskWithPlentyAreAStart) {
  Watch watch(LowMemoryFilter());
  Play(watch, 40, 20, Nothing, [](Watch& w) { Thrash(w, 0.5); });
  EXPECT_TRUE(watch.told.empty());
}

TEST(LowMemoryTest, AProcessThatFreesMemoryOfItsCgroupIsLowOfItsOwn) {
  Watch watch(LowMemoryFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    Thrash(w, 0.5, 12);
    // Another reads as much from disk, and its cgroup has room.
    w.Process(813, "/usr/bin/reader", {{TELLTALE_PROCESS_FAULTS_MAJOR, 900}});
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].cause, "low memory in a cgroup");
  EXPECT_THAT(watch.told[0].subject, HasSubstr("app (pid 812"));
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("it frees memory of its cgroup 12 times a second"));
}

}  // namespace
}  // namespace telltale::filter
