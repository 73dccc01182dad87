// The rule about processes that wait, on epochs with and without such.

#include <gmock/gmock.h>

#include "collector/filter/detect/rules.h"
#include "sketch/layout.h"
#include "tests/unit/filter_play.h"

namespace telltale::filter {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_EQ(
      told.facts,
      "waited: 42 s; waits: 96 1; ran: 0 s; for: a lock of the kernel; waker: writer (pid 90, "
      "uid 0); which_is: itself waiting for a disk; pid: 812 1; program: /usr/lib/postgres; user: "
      "0; "
      "watched: 60 s");
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

// Of the processes of a program that wait in one place a sample is of one.
TEST(BlockedTest, WhereOnlyTheWaitOfAnotherOfItsProgramWasSampledTheHolderIsThatOnes) {
  const auto text = [](const char* exe, uint32_t holder) {
    Watch watch(BlockedFilter());
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      Wait(w, 812, "/usr/lib/postgres", "lock", 0.7, 1.6);
      v1::FoldedSample& sample = w.Label("lock", "mutex", exe, 0.6);
      sample.mutable_exemplar()->set_pid(813);
      sample.mutable_exemplar()->set_detail(1, holder);
    });
    return watch.told.empty() ? "" : watch.told[0].text;
  };
  EXPECT_THAT(text("/usr/lib/postgres", 1),
              HasSubstr("; what another of its program waits for is held by other (pid 1, uid 0)"));
  EXPECT_THAT(text("/usr/lib/postgres", 812), HasSubstr("for is held by postgres (pid 812, uid 0)"))
      << "they take turns";
  EXPECT_THAT(text("/usr/bin/elsewhere", 1), Not(HasSubstr("held by")));
}

TEST(BlockedTest, NamesTheDiskAndThePlaceInTheKernelWhereSamplesTell) {
  constexpr uint64_t kSda = 8 << 20, kSdb = kSda + 16;
  Watch watch(BlockedFilter());
  Play(watch, 40, 4, Nothing, [&](Watch& w) {
    Wait(w, 812, "/usr/lib/postgres", "disk", 0.7, 1.6);
    v1::FoldedSample& sample = w.Label("blocking", "disk", "/usr/lib/postgres", 0.6);
    sample.mutable_exemplar()->set_pid(812);
    sample.mutable_exemplar()->set_wait_site(w.String("log_wait_commit < ext4_sync_file"));
    w.Label("disk_io", "write_issued", "/usr/bin/other", 1e6).set_label(2, kSda);
    w.Label("disk_io", "write_issued", "/usr/lib/postgres", 1e5).set_label(2, kSdb);
    v1::HostNames& names = *w.body.mutable_host_names();
    for (const auto& [device, name] : {std::pair{kSda, "sda"}, std::pair{kSdb, "sdb"}}) {
      names.add_device(device);
      names.add_disk(w.String(name));
    }
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text,
            "postgres (pid 812, uid 0) waited 42 s of 60 s in 96 waits for disk sdb, in "
            "log_wait_commit, called by ext4_sync_file");
  EXPECT_EQ(watch.told[0].cause, "blocked on disk sdb");
  EXPECT_EQ(watch.told[0].device, "sdb");
  EXPECT_EQ(watch.told[0].site, "log_wait_commit < ext4_sync_file");
}

constexpr uint64_t kDisk = 8 << 20, kOtherDisk = kDisk + 16;

// In the epoch so many requests of a kind ("write") ended on all disks together, after so long.
void Answers(Watch& watch, const char* kind, uint64_t requests, double await_s) {
  v1::Histogram& all = *watch.body.add_histograms();
  all.set_layer(v1::LAYER_DISK);
  all.set_operation(kind);
  all.set_exits(requests);
  all.set_sum(static_cast<uint64_t>(static_cast<double>(requests) * await_s * 1e9));
}

// One that was sampled, with how long it took.
void Sampled(Watch& watch, uint64_t device, const char* name, double await_s) {
  v1::FoldedSample& done = watch.Label("disk_io", "write_done", "", 1e6);
  done.set_label(2, device);
  done.mutable_exemplar()->set_detail(4, static_cast<uint64_t>(await_s * 1e9));
  v1::HostNames& names = *watch.body.mutable_host_names();
  names.add_device(device);
  names.add_disk(watch.String(name));
}

// Of a writer that waits for a disk, usual and now so fast. `other` s: another disk answers, too,
// or did so when it was as usual.
Watch::Told OnADisk(double usual_s, double now_s, double other_s = 0, double usual_other_s = 0) {
  Watch watch(BlockedFilter());
  const auto answers = [](Watch& w, double await_s, double beside_s) {
    if (await_s == 0) return;
    Sampled(w, kDisk, "sda", await_s);
    Answers(w, "write", 100, await_s);
    if (beside_s == 0) return;
    Sampled(w, kOtherDisk, "sdb", beside_s);
    w.Label("disk_io", "write_issued", "/usr/bin/writer", 1e6).set_label(2, kDisk);
  };
  Play(
      watch, 40, 0, [&](Watch& w) { answers(w, usual_s, usual_other_s); }, Nothing);
  Play(watch, 0, 2, Nothing, [&](Watch& w) {
    Wait(w, 90, "/usr/bin/writer", "disk", 0.9, 5);
    answers(w, now_s, other_s);
  });
  EXPECT_EQ(watch.told.size(), 1u);
  return watch.told.empty() ? Watch::Told{} : watch.told[0];
}

TEST(BlockedTest, ThatItsDiskIsSlowerThanUsualIsEvidence) {
  using ::testing::EndsWith;
  EXPECT_THAT(OnADisk(0.004, 1.9).evidence,
              EndsWith("; disk sda: await 1.9 s a write, usual 4 ms"));
  EXPECT_THAT(OnADisk(0.004, 0.0081).evidence, HasSubstr("await 8.1 ms a write, usual 4 ms"));
  EXPECT_THAT(OnADisk(0, 1.9).evidence, EndsWith("; disk sda: await 1.9 s a write"))
      << "what is usual of it is not known";
  EXPECT_THAT(OnADisk(0.004, 0).evidence, Not(HasSubstr("await"))) << "it answered nothing";
}

TEST(BlockedTest, ThatItsDiskIsAsFastAsUsualSpeaksAgainst) {
  const Watch::Told told = OnADisk(0.004, 0.0079);
  EXPECT_THAT(told.evidence, Not(HasSubstr("await")));
  EXPECT_EQ(
      told.against,
      "disk sda answers as fast as usual, await 7.9 ms a write, usual 4 ms; a program that only "
      "reads or writes waits like this without a fault");
}

// A failing disk is slow for hours before somebody waits for it long enough to be told.
TEST(BlockedTest, ThatItsDiskIsSlowIsNotTheUsualBeforeADayOfIt) {
  const auto told = [](int slow, uint64_t length_s) {
    Watch watch(BlockedFilter());
    watch.length_s = length_s;
    const auto answers = [](Watch& w, double await_s) {
      Sampled(w, kDisk, "sda", await_s);
      Answers(w, "write", 100, await_s);
    };
    Play(
        watch, 40, 0, [&](Watch& w) { answers(w, 0.004); }, Nothing);
    Play(
        watch, slow, 0, [&](Watch& w) { answers(w, 1.9); }, Nothing);
    Play(watch, 0, 2, Nothing, [&](Watch& w) {
      Wait(w, 90, "/usr/bin/writer", "disk", 0.9, 5);
      answers(w, 1.9);
    });
    EXPECT_EQ(watch.told.size(), 1u);
    return watch.told.empty() ? Watch::Told{} : watch.told[0];
  };
  EXPECT_THAT(told(120, 60).evidence, HasSubstr("disk sda: await 1.9 s a write, usual 4 ms"));
  EXPECT_THAT(told(1'500, 60).against, HasSubstr("disk sda answers as fast as usual, await 1.9 s"));
  EXPECT_THAT(told(1'500, 5).evidence, HasSubstr("disk sda: await 1.9 s a write, usual 4 ms"))
      << "two hours of short epochs";
}

TEST(BlockedTest, OfADiskThatWasIdleAndIsNowFastNowSlowThatIsUsual) {
  Watch watch(BlockedFilter());
  int epoch = 0;
  const auto answers = [&](Watch& w) {
    const double await_s = ++epoch <= 40 || epoch % 3 == 0 ? 0.004 : 0.012;
    Sampled(w, kDisk, "sda", await_s);
    Answers(w, "write", 100, await_s);
  };
  Play(
      watch, 400, 0, [&](Watch& w) { answers(w); }, Nothing);
  Play(watch, 0, 2, Nothing, [&](Watch& w) {
    Wait(w, 90, "/usr/bin/writer", "disk", 0.9, 5);
    Sampled(w, kDisk, "sda", 0.012);
    Answers(w, "write", 100, 0.012);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].against, HasSubstr("await 12 ms a write, usual 12 ms"));
}

// The agent measures latencies of all disks together.
TEST(BlockedTest, OfOneOfTwoDisksARequestThatWasSampledTells) {
  EXPECT_THAT(OnADisk(0.004, 1.9, 0.05, 0.05).evidence,
              HasSubstr("; disk sda: await 1.9 s, one sampled write, usual 4 ms"));
  EXPECT_THAT(OnADisk(0.004, 0.004, 0.05, 0.05).against, Not(HasSubstr("as fast as usual")))
      << "one fast request is no evidence";
  EXPECT_THAT(OnADisk(0.004, 1.9, 0.05).evidence,
              ::testing::EndsWith("disk sda: await 1.9 s, one sampled write"))
      << "what all took on average says little of one";
}

TEST(BlockedTest, OfADisksKindsOfRequestsTheOneThatTookMostTimeIsTold) {
  const auto told = [](uint64_t flushes) {
    Watch watch(BlockedFilter());
    Play(
        watch, 40, 2,
        [&](Watch& w) {
          Nothing(w);
          Sampled(w, kDisk, "sda", 0.004);
          Answers(w, "write", 100, 0.004);
          Answers(w, "flush", flushes, 0.05);
        },
        [](Watch& w) { Wait(w, 90, "/usr/bin/writer", "disk", 0.9, 5); });
    EXPECT_EQ(watch.told.size(), 1u);
    return watch.told.empty() ? "" : watch.told[0].against;
  };
  EXPECT_THAT(told(9), HasSubstr("await 50 ms a flush, usual 50 ms"));
  EXPECT_THAT(told(7), HasSubstr("await 4 ms a write, usual 4 ms"));
}

TEST(BlockedTest, OfTheDiskThatItsHolderWaitsForItIsToldAsWell) {
  Watch watch(BlockedFilter());
  Play(
      watch, 40, 2,
      [](Watch& w) {
        Nothing(w);
        Sampled(w, kDisk, "sda", 0.004);
        Answers(w, "write", 100, 0.004);
      },
      [](Watch& w) {
        Wait(w, 812, "/usr/lib/postgres", "lock", 0.7, 1.6);
        Wait(w, 90, "/usr/bin/writer", "disk", 0.9, 5);
        v1::FoldedSample& sample = w.Label("lock", "mutex", "/usr/lib/postgres", 0.6);
        sample.mutable_exemplar()->set_pid(812);
        sample.mutable_exemplar()->mutable_holder()->set_pid(90);
      });
  ASSERT_EQ(watch.told.size(), 2u);
  for (const Watch::Told& told : watch.told) {
    EXPECT_THAT(told.against, HasSubstr("disk sda answers as fast as usual")) << told.text;
    EXPECT_EQ(told.device, told.subject.starts_with("writer") ? "sda" : "");
  }
}

TEST(BlockedTest, NamesTheUserAndTheThreadThatHoldsALock) {
  Watch watch(BlockedFilter());
  Play(watch, 40, 4, Nothing, [&](Watch& w) {
    Wait(w, 812, "/usr/lib/postgres", "lock", 0.7, 1.6);
    v1::FoldedSample& sample = w.Label("lock", "mutex", "/usr/lib/postgres", 0.6);
    sample.mutable_exemplar()->set_pid(812);
    sample.mutable_exemplar()->mutable_holder()->set_pid(812);
    sample.mutable_exemplar()->mutable_holder()->set_tid(815);
    sample.mutable_exemplar()->mutable_holder()->set_comm(w.String("checkpointer"));
    w.body.mutable_host_names()->add_uid(0);
    w.body.mutable_host_names()->add_user(w.String("root"));
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("postgres (pid 812, user root) waited"));
  EXPECT_THAT(watch.told[0].text, HasSubstr("held by its own thread checkpointer (tid 815)"));
}

TEST(BlockedTest, WaitsForADiskAndInsideTheKernelAddUp) {
  const auto told = [](double disk, double inside, double lock) {
    Watch watch(BlockedFilter());
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      w.Process(90, "/usr/bin/writer",
                {{w.Share("blocking", "disk", true), disk * 1e9},
                 {w.Share("blocking", "disk", false), 500},
                 {w.Share("blocking", "uninterruptible", true), inside * 1e9},
                 {w.Share("blocking", "uninterruptible", false), 250},
                 {w.Share("lock", "mutex", true), lock * 1e9}});
    });
    return watch.told;
  };
  const auto syncs = told(0.3, 0.4, 0);
  ASSERT_EQ(syncs.size(), 1u);
  EXPECT_EQ(syncs[0].text,
            "writer (pid 90, uid 0) waited 42 s of 60 s in 45000 waits for something inside the "
            "kernel and a disk");
  EXPECT_EQ(syncs[0].cause, "blocked on something inside the kernel and a disk");
  const auto mostly = told(0.65, 0.05, 0);
  ASSERT_EQ(mostly.size(), 1u);
  EXPECT_EQ(mostly[0].cause, "blocked on a disk");
  EXPECT_TRUE(told(0.1, 0.3, 0.3).empty()) << "a wait for a lock of the kernel is one inside it";
}

TEST(BlockedTest, OnABusyNodeItIsToldByWhatItWaitsForBetweenItsTurns) {
  const auto told = [](double disk, double queued, double ran) {
    Watch watch(BlockedFilter());
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      w.Process(90, "/usr/bin/writer",
                {{TELLTALE_PROCESS_RUN_NS, ran * 1e9},
                 {TELLTALE_PROCESS_QUEUE_NS, queued * 1e9},
                 {w.Share("blocking", "disk", true), disk * 1e9},
                 {w.Share("blocking", "disk", false), 3700}});
    });
    return watch.told;
  };
  const auto syncs = told(0.22, 0.66, 0.08);
  ASSERT_EQ(syncs.size(), 1u);
  EXPECT_EQ(syncs[0].cause, "blocked on a disk");
  EXPECT_THAT(syncs[0].evidence, HasSubstr("blocked 0.22, ran 0.08, queued 0.66 threads"));
  EXPECT_TRUE(told(0.22, 0.3, 0.08).empty()) << "mostly it waits for something else";
  EXPECT_TRUE(told(0.22, 0.54, 0.24).empty()) << "mostly it works";
  EXPECT_TRUE(told(0.14, 0.8, 0.06).empty()) << "it hardly gets to ask the disk";
  EXPECT_TRUE(told(0.3, 4, 0.1).empty()) << "its other threads wait for a CPU";
}

// Of a vital that is counted part of the time to stay within a budget, what a process has is scaled
// up.
TEST(BlockedTest, WhoReadsThroughFilesIsToldOnlyWhereTheDiskIsSlow) {
  const auto told = [](double read, double written, double times) {
    Watch watch(BlockedFilter());
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      w.Process(90, "/usr/bin/grep",
                {{TELLTALE_PROCESS_RUN_NS, 0.1 * 1e9},
                 {TELLTALE_PROCESS_READ_BYTES, read},
                 {TELLTALE_PROCESS_WRITE_BYTES, written},
                 {w.Share("blocking", "disk", true), 0.8 * 1e9},
                 {w.Share("blocking", "disk", false), times}});
    });
    return watch.told.size();
  };
  EXPECT_EQ(told(2e7, 1e5, 2'400), 0u) << "a third of a millisecond each";
  EXPECT_EQ(told(2e7, 1e5, 240), 1u) << "3.3 ms each";
  EXPECT_EQ(told(2e7, 1e5, 0), 1u) << "one, still open";
  EXPECT_EQ(told(1e5, 2e7, 2'400), 1u) << "it writes, and waits for each write";
}

TEST(BlockedTest, NobodyWaitsForLongerThanItHasThreads) {
  const auto told = [](double waited, double existed) {
    Watch watch(BlockedFilter());
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      w.Process(90, "/usr/bin/writer",
                {{TELLTALE_PROCESS_RUN_NS, 0.1e9},
                 {TELLTALE_PROCESS_TASK_NS, existed * 1e9},
                 {w.Share("lock", "mutex", true), waited * 1e9}});
    });
    return watch.told;
  };
  const auto most = told(1.19, 1);
  ASSERT_EQ(most.size(), 1u);
  EXPECT_THAT(most[0].text, HasSubstr("waited about 54 s of 60 s"));
  EXPECT_THAT(most[0].evidence, HasSubstr("blocked 0.9, ran 0.1, queued 0 threads, of an estimate "
                                          "of 1.19: more than it had"));
  EXPECT_DOUBLE_EQ(most[0].value, 0.9);
  EXPECT_THAT(told(0.8, 1).at(0).text, HasSubstr("waited 48 s of 60 s"));
  EXPECT_TRUE(told(1.19, 0.4).empty()) << "it was there for less than half of the epoch";
}

// As an agent tells a thread that waits through the whole epoch: each figure rounded down.
TEST(BlockedTest, AWaitThroughoutTheEpochIsNoEstimate) {
  constexpr double kWhole = 111.0 * (1 << 29) / 60;
  Watch watch(BlockedFilter());
  Play(watch, 40, 4, Nothing, [&](Watch& w) {
    w.Process(90, "/usr/bin/writer",
              {{TELLTALE_PROCESS_RUN_NS, 0.0008e9},
               {TELLTALE_PROCESS_TASK_NS, kWhole},
               {w.Share("blocking", "disk", true), kWhole}});
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text,
            "writer (pid 90, uid 0) waited 59.6 s of 60 s in one wait, still open, for a disk");
  EXPECT_EQ(watch.told[0].evidence, "blocked 0.993, ran 0.0008, queued 0 threads");
}

TEST(BlockedTest, NamesTheHolderWhileTheWaitIsStillOpen) {
  Watch watch(BlockedFilter());
  Play(watch, 40, 4, Nothing, [](Watch& w) {
    w.Process(812, "/usr/lib/postgres",
              {{TELLTALE_PROCESS_TASK_NS, 1e9}, {w.Share("lock", "mutex", true), 0.99e9}});
    w.Process(90, "/usr/bin/writer", {{TELLTALE_PROCESS_RUN_NS, 0.1e9}});
    v1::Sample& open = *w.Label("lock", "mutex", "/usr/lib/postgres", 0.99).mutable_exemplar();
    open.set_pid(812);
    open.mutable_holder()->set_pid(90);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("in one wait, still open, for a lock of the kernel"));
  EXPECT_THAT(watch.told[0].text, HasSubstr("it is held by writer (pid 90, uid 0)"));
}

TEST(BlockedTest, SaysInHowManyWaitsAsFarAsTheRowTells) {
  const auto told = [](double threads, double times, double of_others) {
    Watch watch(BlockedFilter());
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      Wait(w, 90, "/usr/bin/writer", "disk", threads, times);
      w.Others(900, {{w.Share("blocking", "disk", false), of_others}});
    });
    return watch.told.at(0).text;
  };
  EXPECT_THAT(told(0.9, 1.01 / 60, 0), HasSubstr("waited 54 s of 60 s in 1 wait for a disk"));
  EXPECT_THAT(told(0.9, 15, 0), HasSubstr("waited 54 s of 60 s in 900 waits for a disk"));
  EXPECT_THAT(told(0.9, 0, 15e3), HasSubstr("waited 54 s of 60 s for a disk"))
      << "of a million waits on the node a row may leave out 900";
  EXPECT_THAT(told(9.9, 0, 0),
              HasSubstr("waited 594 s of 60 s in waits that are still open for a disk"));
}

TEST(BlockedTest, NobodyWaitsForLongerThanWasWatched) {
  Watch watch(BlockedFilter());
  watch.unwatched_s = 29;
  Play(watch, 40, 4, Nothing, [&](Watch& w) {
    w.Process(90, "/usr/bin/writer",
              {{TELLTALE_PROCESS_RUN_NS, 0.1e9},
               {TELLTALE_PROCESS_TASK_NS, 1e9},
               {w.Share("blocking", "uninterruptible", true), 1.3e9}});
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("waited about 27.9 s of 31 s"));
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("ran 0.1,"));
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

// A program whose threads queue for a lock of their own, for so long each time; `polls`: threads
// of it that wait for something from outside, and `others_poll`: of the rest of the node.
std::vector<Watch::Told> Convoy(double wait_s, double polls, uint32_t holder,
                                double others_poll = 0) {
  Watch watch(BlockedFilter());
  Play(watch, 40, 4, Nothing, [&](Watch& w) {
    w.Process(812, "/usr/bin/app",
              {{w.Share("blocking", "lock", true), 3e9},
               {w.Share("lock", "futex", true), 3e9},
               {w.Share("lock", "futex", false), 3 / wait_s},
               {w.Share("blocking", "poll", true), polls * 1e9}});
    w.Others(900, {{w.Share("blocking", "poll", true), others_poll * 1e9}});
    v1::FoldedSample& sample = w.Label("lock", "futex", "/usr/bin/app", 2.5);
    sample.mutable_exemplar()->set_pid(812);
    sample.mutable_exemplar()->mutable_holder()->set_pid(holder);
  });
  return watch.told;
}

TEST(BlockedTest, AConvoyOfThreadsIsToldWhereNoneOfThemServesAnybody) {
  const auto told = Convoy(0.4, 0, 812);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0].text, HasSubstr("it is held by another thread of its own"));
  EXPECT_THAT(told[0].evidence, HasSubstr("a wait for it takes 400 ms, and none of its threads"));
  EXPECT_TRUE(Convoy(0.4, 1, 812).empty()) << "threads that take turns at waiting for requests";
  EXPECT_TRUE(Convoy(0.002, 0, 812).empty()) << "a lock that is wanted often and kept shortly";
  EXPECT_TRUE(Convoy(0.4, 0, 1).empty()) << "held by another process that is well";
  EXPECT_TRUE(Convoy(0.4, 0, 812, 2'000).empty())
      << "where two thousand threads are in poll, one of its own may be among them";
  EXPECT_EQ(Convoy(0.4, 0, 812, 300).size(), 1u);
}

constexpr uint64_t kSendto = 44, kRecvfrom = 45;  // x86-64

std::vector<Watch::Told> WaitsForASocket(uint64_t call, double wait_s) {
  Watch watch(BlockedFilter());
  Play(watch, 40, 4, Nothing, [&](Watch& w) {
    Wait(w, 812, "/usr/bin/app", "socket", 0.9, 0.9 / wait_s);
    v1::FoldedSample& sample = w.Label("blocking", "socket", "/usr/bin/app", 0.9);
    sample.set_label(1, call + 1);
    sample.mutable_exemplar()->set_pid(812);
  });
  return watch.told;
}

TEST(BlockedTest, WhoSendsAndIsNotTakenFromIsBlockedAndWhoReceivesWaitsForWork) {
  const auto told = WaitsForASocket(kSendto, 1e9);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0].text, HasSubstr("in one wait, still open, for a socket"));
  EXPECT_THAT(told[0].evidence, HasSubstr("it waits 54 s in sendto"));
  EXPECT_EQ(told[0].cause, "blocked on a socket: its peer does not take what it sends");
  EXPECT_TRUE(WaitsForASocket(kRecvfrom, 1e9).empty());
  EXPECT_TRUE(WaitsForASocket(kSendto, 0.05).empty()) << "a peer that takes it at its own pace";
}

// It sends, on a node of six million waits a minute: its row tells of none of its own.
TEST(BlockedTest, WhereARowCannotTellOfWaitsASenderIsBlockedIfASampledOneIsLong) {
  const auto told = [](double took_s) {
    Watch watch(BlockedFilter());
    Play(watch, 40, 4, Nothing, [&](Watch& w) {
      Wait(w, 812, "/usr/bin/app", "socket", 0.6, 0);
      w.Others(900, {{w.Share("blocking", "socket", false), 1e5}});
      v1::FoldedSample& sample = w.Label("blocking", "socket", "/usr/bin/app", 0.6);
      sample.set_label(1, kSendto + 1);
      sample.mutable_exemplar()->set_pid(812);
      sample.mutable_exemplar()->set_weight(static_cast<uint64_t>(took_s * 1e9));
    });
    return watch.told;
  };
  EXPECT_TRUE(told(0.0075).empty()) << "a peer that takes it at its own pace";
  const auto blocked = told(36);
  ASSERT_EQ(blocked.size(), 1u);
  EXPECT_THAT(blocked[0].text, HasSubstr("waited 36 s of 60 s for a socket"));
  EXPECT_THAT(blocked[0].evidence, HasSubstr("it waits 36 s in sendto"));
}

// A program of one thread that waits, as an agent tells it that only looks at what tasks wait for:
// a wait that goes on counts as none.
void GoesOn(Watch& watch, const char* sub, double waits = 0, double threads = 1) {
  watch.Process(812, "/usr/bin/app",
                {{TELLTALE_PROCESS_THREADS, threads},
                 {watch.Share("blocking", sub, true), 0.99e9},
                 {watch.Share("blocking", sub, false), waits}});
}
void Sampled(Watch& watch, const char* sub, uint64_t call,
             telltale_wait_end state = TELLTALE_WAIT_OPEN,
             const char* site = "unix_wait < unix_sendmsg") {
  v1::FoldedSample& sample = watch.Label("blocking", sub, "/usr/bin/app", 0.9);
  sample.set_label(1, call + 1);
  sample.mutable_exemplar()->set_pid(812);
  sample.mutable_exemplar()->set_detail(2, state);
  sample.mutable_exemplar()->set_wait_site(watch.String(site));
}
// Two epochs of a wait for a socket of which the first alone was sampled, each as `first` and
// `second` say it was besides.
template <typename First, typename Second>
std::vector<Watch::Told> SampledOnce(First first, Second second) {
  Watch watch(BlockedFilter());
  for (int i = 0; i < 40; ++i) {
    Nothing(watch);
    watch.Show();
  }
  Nothing(watch);
  first(watch);
  watch.Show();
  Nothing(watch);
  second(watch);
  watch.Show();
  return watch.told;
}
void SendsSampled(Watch& watch) {
  GoesOn(watch, "socket");
  Sampled(watch, "socket", kSendto);
}
void StillWaits(Watch& watch) { GoesOn(watch, "socket"); }

TEST(BlockedTest, AWaitThatGoesOnIsInTheCallItWasSampledIn) {
  const auto told = SampledOnce(SendsSampled, StillWaits);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].text,
            "app (pid 812, uid 0) waited 59.4 s of 60 s in one wait, still open, for a socket");
  EXPECT_EQ(told[0].cause, "blocked on a socket: its peer does not take what it sends");
  EXPECT_THAT(told[0].evidence,
              HasSubstr("it waits 59.4 s in sendto; where it waits was sampled in "
                        "an epoch before, and it began no other wait"));
}

TEST(BlockedTest, AWaitSampledAsItBeganIsToldAfterTwoEpochsOfIt) {
  Watch watch(BlockedFilter());
  Play(watch, 40, 3, Nothing, [epoch = 0](Watch& w) mutable {
    if (++epoch > 1) return StillWaits(w);
    w.Process(812, "/usr/bin/app",
              {{TELLTALE_PROCESS_THREADS, 1}, {w.Share("blocking", "socket", true), 0.1e9}});
    Sampled(w, "socket", kSendto);
  });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].end_ns - watch.told[0].start_ns, 2 * 60 * Watch::kSecond);
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("sampled in an epoch before"));
}

TEST(BlockedTest, AWaitThatMayBeAnotherIsNotTakenForTheOneThatWasSampled) {
  EXPECT_TRUE(SampledOnce(SendsSampled, [](Watch& w) { GoesOn(w, "socket", 1.0 / 60); }).empty())
      << "it began a wait: for its next request, perhaps";
  EXPECT_TRUE(SampledOnce(SendsSampled,
                          [](Watch& w) {
                            StillWaits(w);
                            w.Others(1, {{w.Share("blocking", "socket", false), 40}});
                          })
                  .empty())
      << "of so many waits on the node one of its own may be left out";
  EXPECT_EQ(SampledOnce(SendsSampled,
                        [](Watch& w) {
                          StillWaits(w);
                          w.Others(1, {{w.Share("blocking", "socket", false), 30}});
                        })
                .size(),
            1u);
  EXPECT_EQ(SampledOnce(
                [](Watch& w) {
                  GoesOn(w, "socket", 1.0 / 60);
                  Sampled(w, "socket", kSendto, TELLTALE_WAIT_OPEN_SEVERAL);
                },
                StillWaits)
                .size(),
            1u)
      << "the last of several goes on";
  EXPECT_TRUE(SampledOnce(
                  [](Watch& w) {
                    GoesOn(w, "socket");
                    Sampled(w, "socket", kSendto, TELLTALE_WAIT_SEVERAL);
                  },
                  StillWaits)
                  .empty())
      << "of several that may all be over";
  EXPECT_TRUE(SampledOnce(
                  [](Watch& w) {
                    GoesOn(w, "socket");
                    Sampled(w, "socket", kSendto, TELLTALE_WAIT_ENDED);
                  },
                  StillWaits)
                  .empty())
      << "the wait that was sampled ended";
  EXPECT_TRUE(SampledOnce(
                  [](Watch& w) {
                    GoesOn(w, "socket", 0, 2);
                    Sampled(w, "socket", kSendto);
                  },
                  StillWaits)
                  .empty())
      << "another thread of it may be the one that waits";
  EXPECT_TRUE(SampledOnce(SendsSampled,
                          [](Watch& w) {
                            StillWaits(w);
                            w.body.mutable_processes()->mutable_rows(1)->set_start_mono_ns(1);
                          })
                  .empty())
      << "another process of that number";
  EXPECT_TRUE(SampledOnce(SendsSampled,
                          [](Watch& w) {
                            StillWaits(w);
                            w.now += 30 * Watch::kSecond;
                          })
                  .empty())
      << "what was in between nobody saw";
  EXPECT_TRUE(SampledOnce(SendsSampled,
                          [](Watch& w) {
                            StillWaits(w);
                            w.Vital("blocking").set_unwatched_ns(10 * Watch::kSecond);
                          })
                  .empty())
      << "a wait that ended while nobody looked is not counted";
}

TEST(BlockedTest, WhoWaitsForRequestsIsNoCaseHoweverLongTheWaitIsOpen) {
  Watch watch(BlockedFilter());
  Play(watch, 40, 20, Nothing, [epoch = 0](Watch& w) mutable {
    StillWaits(w);
    if (++epoch % 4 == 1) Sampled(w, "socket", kRecvfrom);
  });
  EXPECT_TRUE(watch.told.empty()) << watch.told[0].text;
  Watch unknown(BlockedFilter());
  Play(unknown, 40, 20, Nothing, StillWaits);
  EXPECT_TRUE(unknown.told.empty()) << "never sampled";
  // It answered, which took the client a moment, and waits for the next request since.
  Watch served(BlockedFilter());
  Play(served, 40, 20, Nothing, [epoch = 0](Watch& w) mutable {
    ++epoch;
    GoesOn(w, "socket", epoch < 3 ? 2.0 / 60 : 0);
    if (epoch == 1) Sampled(w, "socket", kSendto);
  });
  EXPECT_TRUE(served.told.empty()) << served.told[0].text;
}

TEST(BlockedTest, WhereInTheKernelAWaitThatGoesOnIsWasSampledBefore) {
  const auto told = SampledOnce(
      [](Watch& w) {
        GoesOn(w, "uninterruptible");
        Sampled(w, "uninterruptible", kSendto, TELLTALE_WAIT_OPEN,
                "fuse_get_req < fuse_simple_request");
      },
      [](Watch& w) { GoesOn(w, "uninterruptible"); });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0].text, HasSubstr("in fuse_get_req, called by fuse_simple_request"));
  EXPECT_EQ(told[0].site, "fuse_get_req < fuse_simple_request");
  // Its send ended, and now it waits for something else.
  const auto other = SampledOnce(SendsSampled, [](Watch& w) {
    w.Process(812, "/usr/bin/app",
              {{TELLTALE_PROCESS_THREADS, 1},
               {w.Share("blocking", "socket", true), 0.2e9},
               {w.Share("blocking", "uninterruptible", true), 0.7e9}});
  });
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0].site, "");
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

}  // namespace
}  // namespace telltale::filter
