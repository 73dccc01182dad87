// The rules about a node's disks, kernel and memory, on epochs with and without the fault each
// speaks of.

#include <gmock/gmock.h>

#include "collector/filter/detect/rules.h"
#include "tests/unit/filter_play.h"

namespace telltale::filter {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
    v1::Sample& failed =
        *w.Label("disk_io", "read_done", "/usr/bin/reader", 1e6).mutable_exemplar();
    failed.set_detail(2, 65536);
    failed.set_detail(5, 5);
  });
  ASSERT_EQ(fails.told.size(), 1u);
  EXPECT_EQ(fails.told[0].text, "reads of a disk fail with EIO, those of /usr/bin/reader");
  EXPECT_EQ(fails.told[0].evidence,
            "the largest of 3 that were sampled failed, of 65.5 kB; 1 MB/s asked");
}

// What comes back with an error counts as done, as if nothing were wrong.
TEST(UngratifiedIoTest, ThatRequestsFailIsAsSevereAsAnythingHoweverFewBytesTheyHave) {
  Watch watch(UngratifiedIoFilter());
  Play(watch, 40, 2, Nothing, [](Watch& w) {
    w.Rate("disk_io", "read_issued", 100e6);
    w.Rate("disk_io", "read_done", 100e6);
    v1::FoldedSample& failed = w.Label("disk_io", "read_done", "", 1e6);
    failed.mutable_exemplar()->set_detail(2, 4096);
    failed.mutable_exemplar()->set_detail(5, 5);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_GE(watch.told[0].severity, 100);
  EXPECT_NEAR(watch.told[0].value, 4096 / 60.0, 1e-6);
  EXPECT_EQ(watch.told[0].expected, 0);
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

constexpr uint64_t kDisk = 8 << 20;

// Some are written to sda.
void Writes(Watch& watch, uint64_t device = kDisk) {
  watch.Rate("disk_io", "write_issued", 1e6);
  watch.Rate("disk_io", "write_done", 1e6);
  watch.Label("disk_io", "write_issued", "/usr/bin/writer", 1e6).set_label(2, device);
  watch.body.mutable_host_names()->add_device(kDisk);
  watch.body.mutable_host_names()->add_disk(watch.String("sda"));
}

// Requests that are out at the end of each second.
void Out(Watch& watch, int64_t requests) {
  for (uint64_t second = 0; second < watch.length_s; ++second) {
    watch.Vital("disk_io").add_backlog(requests);
  }
}

template <typename Fault>
std::vector<Watch::Told> AfterWrites(int faulty, Fault fault) {
  Watch watch(UngratifiedIoFilter());
  Play(
      watch, 40, 0, [](Watch& w) { Writes(w); }, Nothing);
  Play(watch, 0, faulty, Nothing, fault);
  return watch.told;
}

TEST(UngratifiedIoTest, ADiskFromWhichNothingComesBackIsTold) {
  const auto told = AfterWrites(2, [](Watch& w) { Out(w, 3); });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].text, "nothing has come back from disk sda for 2 min, 3 requests are out");
  EXPECT_EQ(told[0].device, "sda");
  EXPECT_EQ(told[0].cause, "ungratified I/O: a disk, or the way to it, hangs");
  // That something is asked all the same is no other case.
  const auto asked = AfterWrites(2, [](Watch& w) {
    Out(w, 1);
    w.Rate("disk_io", "write_issued", 1e6);
  });
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].text, "nothing has come back from disk sda for 2 min, 1 request is out");
}

// As a disk that is reset again and again.
TEST(UngratifiedIoTest, OneThatAnswersLittleAndThenNothingInTurnIsTold) {
  Watch watch(UngratifiedIoFilter());
  Play(
      watch, 40, 0, [](Watch& w) { Writes(w); }, Nothing);
  for (int turn = 0; turn < 2; ++turn) {
    Play(watch, 0, 1, Nothing, [](Watch& w) {
      w.Rate("disk_io", "write_issued", 1e6);
      w.Rate("disk_io", "write_done", 1e5);
    });
    Play(watch, 0, 1, Nothing, [](Watch& w) {
      Out(w, 1);
      w.Rate("disk_io", "write_issued", 1e6);
    });
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("disk writes are not answered"));
}

TEST(UngratifiedIoTest, WhichOfTwoDisksHangsIsNotKnown) {
  Watch watch(UngratifiedIoFilter());
  Play(
      watch, 40, 0,
      [](Watch& w) {
        Writes(w);
        w.Label("disk_io", "read_issued", "/usr/bin/reader", 1e6).set_label(2, kDisk + 16);
      },
      Nothing);
  Play(watch, 0, 2, Nothing, [](Watch& w) { Out(w, 3); });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text,
            "nothing has come back from any disk for 2 min, 3 requests are out");
  EXPECT_EQ(watch.told[0].device, "");
}

TEST(UngratifiedIoTest, ADiskThatHasNothingToDoOrAnswersNowAndThenDoesNotHang) {
  EXPECT_TRUE(AfterWrites(4, [](Watch& w) { Out(w, 0); }).empty());
  EXPECT_TRUE(AfterWrites(4, [](Watch& w) {
                Out(w, 3);
                w.Vital("disk_io").set_backlog(20, 0);
              }).empty());
  for (const char* done : {"read_done", "write_done", "flush_done"}) {
    EXPECT_TRUE(
        AfterWrites(4,
                    [&](Watch& w) {
                      Out(w, 3);
                      w.Vital("disk_io").mutable_subs(w.Sub("disk_io", done))->set_events(1);
                    })
            .empty())
        << done;
  }
  // Whose answers may not have been looked at.
  EXPECT_TRUE(AfterWrites(4, [](Watch& w) {
                Out(w, 3);
                w.Vital("disk_io").set_estimated(true);
              }).empty());
  EXPECT_TRUE(AfterWrites(4, [](Watch& w) {
                Out(w, 3);
                w.Vital("disk_io").set_unwatched_ns(4 * Watch::kSecond);
              }).empty());
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
            "(pid 77, uid 0), 2 CPUs");
}

// Beside kswapd0, which takes 2.
Watch::Told KernelBeside(double process_cpus, double calls) {
  Watch watch(KernelBottleneckFilter());
  Play(watch, 40, 2, Nothing, [&](Watch& w) {
    Kernel(w, 0.3, 3.5);
    w.Process(90, "/usr/bin/dd", {{TELLTALE_PROCESS_SYSTEM_NS, process_cpus * 1e9}});
    w.Process(91, "/usr/bin/web",
              {{TELLTALE_PROCESS_QUEUE_NS, 2.5e9}, {TELLTALE_PROCESS_SYSTEM_NS, 0.1e9}});
    w.Vital("syscall").mutable_subs(0)->set_events(static_cast<uint64_t>(calls * 60));
  });
  EXPECT_EQ(watch.told.size(), 1u);
  return watch.told.empty() ? Watch::Told{} : watch.told[0];
}

TEST(KernelBottleneckTest, AThreadOfTheKernelIsNamedBeforeAProcessThatSpendsSomeMoreThere) {
  EXPECT_THAT(
      KernelBeside(3, 0).text,
      HasSubstr("; its own [kswapd0] (pid 77, uid 0) takes 2 of them, dd (pid 90, uid 0) 3"));
  EXPECT_THAT(KernelBeside(4.5, 0).text, HasSubstr("; most of it is dd (pid 90, uid 0), 4.5 CPUs"));
}

// Beside kswapd0, which takes 2, interrupts.
std::string InterruptsBeside(double cpus) {
  Watch watch(KernelBottleneckFilter());
  Play(watch, 40, 2, Nothing, [&](Watch& w) {
    Kernel(w, 0.3, 3.5);
    w.Process(0, "", {{TELLTALE_PROCESS_SYSTEM_NS, cpus * 1e9}});
    w.body.mutable_processes()->mutable_rows()->rbegin()->set_irq(true);
  });
  EXPECT_EQ(watch.told.size(), 1u);
  return watch.told.empty() ? "" : watch.told[0].text;
}

TEST(KernelBottleneckTest, InterruptsAreNoProcessOfAnybody) {
  using ::testing::EndsWith;
  EXPECT_THAT(InterruptsBeside(1), EndsWith("; most of it is [kswapd0] (pid 77, uid 0), 2 CPUs"));
  EXPECT_THAT(InterruptsBeside(2.5),
              EndsWith("; its own [kswapd0] (pid 77, uid 0) takes 2 of them, [irq] 2.5"));
  EXPECT_THAT(InterruptsBeside(4.5), EndsWith("; most of it is [irq], 4.5 CPUs"));
}

// As one that ended before anybody could look what it runs. `what` it has besides.
std::string WithoutExecutable(const std::map<uint32_t, double>& what, uint32_t uid) {
  Watch watch(KernelBottleneckFilter());
  Play(watch, 40, 2, Nothing, [&](Watch& w) {
    Kernel(w, 0.3, 3.5);
    std::map<uint32_t, double> columns = what;
    columns[TELLTALE_PROCESS_SYSTEM_NS] = 3e9;
    w.Process(90, "", columns);
    v1::ProcessRow& row = *w.body.mutable_processes()->mutable_rows()->rbegin();
    row.set_comm(w.String("copies"));
    row.set_uid(uid);
  });
  EXPECT_EQ(watch.told.size(), 1u);
  return watch.told.empty() ? "" : watch.told[0].text;
}

TEST(KernelBottleneckTest, AProcessWhoseExecutableIsNotKnownIsNoThreadOfTheKernel) {
  constexpr char kBoth[] =
      "; its own [kswapd0] (pid 77, uid 0) takes 2 of them, [copies] (pid 90, ";
  EXPECT_THAT(WithoutExecutable({{TELLTALE_PROCESS_RSS_BYTES, 5e7}}, 0), HasSubstr(kBoth));
  EXPECT_THAT(WithoutExecutable({{TELLTALE_PROCESS_USER_NS, 1e7}}, 0), HasSubstr(kBoth));
  EXPECT_THAT(WithoutExecutable({}, 1000), HasSubstr(kBoth));
  EXPECT_THAT(WithoutExecutable({}, 0), HasSubstr("; most of it is [copies] (pid 90, uid 0)"));
}

TEST(KernelBottleneckTest, ThatWaitsForTheCpuWereNotWatchedAllTheTimeIsTold) {
  const auto evidence = [](const char* vital) {
    Watch watch(KernelBottleneckFilter());
    Play(watch, 40, 2, Nothing, [&](Watch& w) {
      Kernel(w, 0.3, 3.5);
      w.Vital(vital).set_unwatched_ns(12 * Watch::kSecond);
    });
    EXPECT_EQ(watch.told.size(), 1u);
    return watch.told.empty() ? "" : watch.told[0].evidence;
  };
  EXPECT_THAT(evidence("sched_delay"), HasSubstr("; watched 96 of 120 s"));
  EXPECT_THAT(evidence("softirq"), Not(HasSubstr("watched"))) << "it does not rest on that";
}

TEST(KernelBottleneckTest, WhoIsHeldMostIsEvidenceAndHowManyCallsThereAreSpeaksAgainst) {
  const Watch::Told few = KernelBeside(1, 300), many = KernelBeside(1, 8e5);
  EXPECT_THAT(few.evidence,
              HasSubstr("3 threads queued, most of all web (pid 91, uid 0) with 2.5"));
  EXPECT_THAT(few.against, HasSubstr("300 system calls a second: too few to be many small ones"));
  EXPECT_THAT(many.against, HasSubstr("800000 system calls a second: a load of many small calls"));
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

// Major faults are what the kernel accounts of each process.
TEST(LowMemoryTest, ThatTheVitalIsAnEstimateIsNoEvidenceOfTheKernelsAccounts) {
  const auto evidence = [](double available) {
    Watch watch(LowMemoryFilter());
    Play(watch, 40, 2, Nothing, [&](Watch& w) {
      Thrash(w, available, 12);
      w.Vital("user_page").set_estimated(true);
      w.Vital("reclaim").set_estimated(true);
    });
    EXPECT_EQ(watch.told.size(), 1u);
    return watch.told.empty() ? "" : watch.told[0].evidence;
  };
  EXPECT_THAT(evidence(0.03), Not(HasSubstr("estimate")));
  EXPECT_THAT(evidence(0.5), ::testing::EndsWith("; reclaim is an estimate"));
}

// 4 GB of swap, of which so much is free.
void Swap(Watch& watch, double free) {
  watch.body.mutable_gauges()->set_swap_total_bytes(4'000'000'000);
  watch.body.mutable_gauges()->set_swap_free_bytes(static_cast<uint64_t>(free * 4e9));
}

Watch::Told LowWithSwap(double free) {
  Watch watch(LowMemoryFilter());
  Play(watch, 40, 2, Nothing, [&](Watch& w) {
    Thrash(w, 0.03);
    Swap(w, free);
  });
  EXPECT_EQ(watch.told.size(), 1u);
  return watch.told.empty() ? Watch::Told{} : watch.told[0];
}

TEST(LowMemoryTest, WhetherSwapIsUsedUpIsTold) {
  const Watch::Told full = LowWithSwap(0.05);
  EXPECT_EQ(full.cause, "low memory and no swap left");
  EXPECT_THAT(full.text, HasSubstr("480 MB available, and swap is used up"));
  EXPECT_THAT(full.evidence, HasSubstr("200 MB of 4 GB swap free"));
  const Watch::Told half = LowWithSwap(0.5);
  EXPECT_EQ(half.cause, "low memory");
  EXPECT_THAT(half.text, Not(HasSubstr("swap")));
  EXPECT_THAT(LowWithSwap(1).against,
              HasSubstr("nothing is in swap: what comes back are pages of files"));
}

// A victim of 200 MB, beside a database of 6 GB and one that grew in an hour to `grown` GB.
std::string TakenBy(double grown) {
  Watch watch(LowMemoryFilter());
  const auto others = [](Watch& w, double gigabytes) {
    w.Process(70, "/usr/bin/database", {{TELLTALE_PROCESS_RSS_BYTES, 6e9}});
    w.Process(90, "/usr/bin/hog", {{TELLTALE_PROCESS_RSS_BYTES, gigabytes * 1e9}});
  };
  Play(
      watch, 40, 0, [&](Watch& w) { others(w, 1); }, Nothing);
  Play(
      watch, 0, 2, [&](Watch& w) { others(w, grown); }, [](Watch& w) { Thrash(w, 0.03); });
  EXPECT_EQ(watch.told.size(), 1u);
  return watch.told.empty() ? "" : watch.told[0].text;
}

TEST(LowMemoryTest, WhoTookTheMemoryIsNamedBesideTheVictim) {
  EXPECT_THAT(TakenBy(5), HasSubstr("available; hog (pid 90, uid 0) grew by 4 GB to 5 GB"));
  EXPECT_THAT(TakenBy(1.1),
              HasSubstr("available; the largest process is database (pid 70, uid 0) with 6 GB"));
}

// Who has how much, in gigabytes: a database and one other.
struct Holds {
  double database = 6;
  uint32_t pid = 0;  // 0: there is no other
  double other = 0;
};
void Hold(Watch& watch, const Holds& holds) {
  watch.Process(70, "/usr/bin/database", {{TELLTALE_PROCESS_RSS_BYTES, holds.database * 1e9}});
  if (holds.pid == 0) return;
  watch.Process(holds.pid, "/usr/bin/job", {{TELLTALE_PROCESS_RSS_BYTES, holds.other * 1e9}});
}

void Quiet(Watch& watch, int epochs, const Holds& holds) {
  Play(
      watch, epochs, 0, [&](Watch& w) { Hold(w, holds); }, Nothing);
}

// What is told when memory is low from now on.
std::string ToldLow(Watch& watch, const Holds& holds) {
  Play(
      watch, 0, 2, [&](Watch& w) { Hold(w, holds); }, [](Watch& w) { Thrash(w, 0.03); });
  EXPECT_EQ(watch.told.size(), 1u);
  return watch.told.empty() ? "" : watch.told[0].text;
}

TEST(LowMemoryTest, WhoWasStartedMeanwhileTookAllItHas) {
  Watch watch(LowMemoryFilter());
  Quiet(watch, 40, {});
  EXPECT_THAT(ToldLow(watch, {.database = 7, .pid = 900, .other = 8}),
              HasSubstr("; job (pid 900, uid 0) was started and has 8 GB"));
  Watch early(LowMemoryFilter());
  Quiet(early, 40, {});
  Quiet(early, 1, {.pid = 900});  // and had nothing yet
  EXPECT_THAT(ToldLow(early, {.database = 7, .pid = 900, .other = 8}),
              HasSubstr("; job (pid 900, uid 0) grew by 8 GB to 8 GB"));
  Watch always(LowMemoryFilter());
  Quiet(always, 40, {.pid = 900, .other = 8});
  EXPECT_THAT(ToldLow(always, {.database = 7, .pid = 900, .other = 8}),
              HasSubstr("; database (pid 70, uid 0) grew by 1 GB to 7 GB"));
}

// Of a process that was there and had no row while those without one had so many GB together, and
// then has 8; told at once, or after an epoch in which memory was not low yet.
std::string OfOneWithoutARow(double others, int quiet = 0) {
  Watch watch(LowMemoryFilter());
  const auto unlisted = [](Watch& w, double gigabytes) {
    w.Others(300, {{TELLTALE_PROCESS_RSS_BYTES, gigabytes * 1e9 / w.length_s}});
  };
  for (int epoch = 0; epoch < 40; ++epoch) {
    unlisted(watch, others);
    Quiet(watch, 1, {.pid = 800, .other = 0.1});
  }
  const auto job = [](Watch& w) {
    w.Process(790, "/usr/bin/hog", {{TELLTALE_PROCESS_RSS_BYTES, 8e9}});
  };
  for (int epoch = 0; epoch < quiet; ++epoch) {
    job(watch);
    unlisted(watch, 1);
    Quiet(watch, 1, {.pid = 800, .other = 0.1});
  }
  Play(
      watch, 0, 2,
      [&](Watch& w) {
        job(w);
        Hold(w, {.database = 6.5, .pid = 800, .other = 0.1});
      },
      [](Watch& w) { Thrash(w, 0.03); });
  EXPECT_EQ(watch.told.size(), 1u);
  return watch.told.empty() ? "" : watch.told[0].text;
}

TEST(LowMemoryTest, WhoHadNoRowGrewByWhatThoseWithoutOneDidNotHave) {
  constexpr char kAtLeast[] = "; hog (pid 790, uid 0) grew by at least 7 GB to 8 GB";
  EXPECT_THAT(OfOneWithoutARow(1), HasSubstr(kAtLeast));
  EXPECT_THAT(OfOneWithoutARow(1, 1), HasSubstr("hog (pid 790, uid 0) grew by at least 7 GB"));
  // It may have had all of it.
  constexpr char kOther[] = "; the largest process is hog (pid 790, uid 0) with 8 GB";
  EXPECT_THAT(OfOneWithoutARow(9), HasSubstr(kOther));
}

// As the backends of a database have its buffers in what is resident of them.
TEST(LowMemoryTest, ACopyOfAProcessTookNoneOfWhatItShares) {
  Watch watch(LowMemoryFilter());
  const auto old = [](Watch& w, double hog) {
    Hold(w, {});
    w.Process(90, "/usr/bin/hog", {{TELLTALE_PROCESS_RSS_BYTES, hog * 1e9}});
  };
  Play(
      watch, 40, 0, [&](Watch& w) { old(w, 1); }, Nothing);
  Play(
      watch, 0, 2,
      [&](Watch& w) {
        old(w, 3);
        w.Process(900, "/usr/bin/database", {{TELLTALE_PROCESS_RSS_BYTES, 5.9e9}});
      },
      [](Watch& w) { Thrash(w, 0.03); });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("; hog (pid 90, uid 0) grew by 2 GB to 3 GB"));
}

TEST(LowMemoryTest, AVictimThatWasStartedMeanwhileMayHaveTakenItItself) {
  Watch watch(LowMemoryFilter());
  Quiet(watch, 40, {});
  Play(
      watch, 0, 2, [](Watch& w) { Hold(w, {}); },
      [](Watch& w) {
        Thrash(w, 0.03);
        w.Process(900, "/usr/bin/job",
                  {{TELLTALE_PROCESS_RSS_BYTES, 8e9}, {TELLTALE_PROCESS_FAULTS_MAJOR, 900}});
      });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("; it was started itself and has 8 GB"));
}

TEST(LowMemoryTest, OnANodeThatWasStartedAnewNobodyIsOfBefore) {
  Watch watch(LowMemoryFilter());
  Play(
      watch, 40, 0,
      [](Watch& w) {
        w.Process(5000, "/usr/bin/old", {{TELLTALE_PROCESS_RSS_BYTES, 1e9}});
      },
      Nothing);
  Quiet(watch, 2, {});
  EXPECT_THAT(ToldLow(watch, {.pid = 900, .other = 8}),
              HasSubstr("; job (pid 900, uid 0) was started and has 8 GB"));
}

TEST(LowMemoryTest, WhoGrewOverALongHoleDidSoInNobodyKnowsWhatTime) {
  const auto told = [](uint64_t minutes) {
    Watch watch(LowMemoryFilter());
    Quiet(watch, 40, {.pid = 90, .other = 1});
    watch.now += minutes * 60 * Watch::kSecond;
    return ToldLow(watch, {.pid = 90, .other = 5});
  };
  EXPECT_THAT(told(10), HasSubstr("; job (pid 90, uid 0) grew by 4 GB to 5 GB"));
  EXPECT_THAT(told(31), HasSubstr("; the largest process is database (pid 70, uid 0) with 6 GB"));
}

// Half an hour, however many epochs it has.
TEST(LowMemoryTest, WhoGrewWithinHalfAnHourIsNamedHoweverShortTheEpochs) {
  const auto told = [](uint64_t minutes_missing) {
    Watch watch(LowMemoryFilter());
    watch.length_s = 5;
    Quiet(watch, 40, {.pid = 90, .other = 1});
    Quiet(watch, 5 * 60 / 5, {.pid = 90, .other = 5});
    watch.now += minutes_missing * 60 * Watch::kSecond;
    return ToldLow(watch, {.pid = 90, .other = 5});
  };
  EXPECT_THAT(told(0), HasSubstr("; job (pid 90, uid 0) grew by 3.4"));
  EXPECT_THAT(told(10), HasSubstr("; job (pid 90, uid 0) grew by 3.4"));
  EXPECT_THAT(told(31), HasSubstr("; the largest process is database (pid 70, uid 0) with 6 GB"));
}

// More than are followed come and go, and then one that stays.
TEST(LowMemoryTest, OfMoreThanAreFollowedThoseLongestAwayAreForgotten) {
  Watch watch(LowMemoryFilter());
  Quiet(watch, 1, {});
  uint32_t pid = 100;
  for (int epoch = 0; epoch < 40; ++epoch) {
    for (int i = 0; i < 30; ++i) {
      watch.Process(++pid, "/usr/bin/short", {{TELLTALE_PROCESS_RSS_BYTES, 2e7}});
    }
    Quiet(watch, 1, {});
  }
  Quiet(watch, 10, {.pid = 90'000, .other = 1});
  EXPECT_THAT(ToldLow(watch, {.pid = 90'000, .other = 5}),
              HasSubstr("; job (pid 90000, uid 0) grew by 4"));
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
  EXPECT_THAT(watch.told[0].against, HasSubstr("the node itself has plenty, 8 GB available"));
}

TEST(LowMemoryTest, OfACgroupOnlyThoseInItTookTheMemory) {
  Watch watch(LowMemoryFilter());
  Play(watch, 40, 2, Nothing, [](Watch& w) {
    Thrash(w, 0.5, 12);
    w.Process(70, "/usr/bin/database", {{TELLTALE_PROCESS_RSS_BYTES, 6e9}});
    w.Process(90, "/usr/bin/hog", {{TELLTALE_PROCESS_RSS_BYTES, 5e7}});
    for (int row : {1, 3}) {
      w.body.mutable_processes()->mutable_rows(row)->set_cgroup(w.String("/shop.slice"));
    }
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("the memory of its cgroup is used up /shop.slice; the "
                                            "largest process is hog (pid 90, uid 0) with 50 MB"));
}

}  // namespace
}  // namespace telltale::filter
