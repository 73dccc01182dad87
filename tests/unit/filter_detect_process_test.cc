// The detectors that follow single processes and programs: rules 2 and 10.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "collector/filter/detect/detectors.h"
#include "tests/unit/filter_watch.h"

namespace telltale::filter {
namespace {

using ::testing::HasSubstr;

constexpr double kMb = 1e6;

void Grow(Watch& watch, int epochs, const std::function<double(int)>& bytes) {
  for (int i = 0; i < epochs; ++i) {
    watch.Process(812, "/usr/bin/app", {{TELLTALE_PROCESS_RSS_BYTES, bytes(i)}});
    watch.Process(9, "/usr/bin/calm", {{TELLTALE_PROCESS_RSS_BYTES, 50 * kMb}});
    watch.Show();
  }
}

TEST(LeakTest, AProcessThatOnlyGrowsIsNamedWithItsPace) {
  Watch watch(LeakFilter());
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.1 * kMb);
  Grow(watch, 120, [&](int i) { return 100 * kMb + i * 0.2 * kMb + noise(random); });
  EXPECT_TRUE(watch.told.empty()) << "a cache that fills up";
  Grow(watch, 40, [&](int i) { return 124 * kMb + i * 0.2 * kMb + noise(random); });
  ASSERT_GE(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].subject, "app (pid 812, uid 0)");
  EXPECT_NEAR(watch.told[0].value * 3600, 12e6, 1.5e6);
  EXPECT_EQ(watch.told[0].cause, "memory leak");
  EXPECT_TRUE(watch.told.back().open);
}

TEST(LeakTest, WhatIsNoLeakIsNotTold) {
  const std::map<std::string, std::function<double(int)>> innocent = {
      {"level", [](int i) { return 100 * kMb + (i * 37 % 11) * 0.3 * kMb; }},
      {"saw of a garbage collector", [](int i) { return 100 * kMb + (i % 12) * 3 * kMb; }},
      {"start that is over", [](int i) { return 200 * kMb - 150 * kMb * std::exp(-i / 6.0); }},
      {"one step", [](int i) { return i < 30 ? 100 * kMb : 300 * kMb; }},
      {"half a megabyte an hour", [](int i) { return 100 * kMb + i * 0.5 * kMb / 60; }},
  };
  for (const auto& [name, bytes] : innocent) {
    Watch watch(LeakFilter());
    Grow(watch, 150, bytes);
    EXPECT_TRUE(watch.told.empty()) << name << ": " << watch.told[0].text;
  }
}

// A database that touches more and more of the files it has mapped, or of buffers that it shares.
TEST(LeakTest, WhatFilesStandBehindOrOthersShareIsNoLeak) {
  const auto grow = [](double own_mb_a_minute) {
    Watch watch(LeakFilter());
    for (int i = 0; i < 60; ++i) {
      watch.Process(812, "/usr/bin/app",
                    {{TELLTALE_PROCESS_RSS_BYTES, (40 + i) * kMb},
                     {TELLTALE_PROCESS_OWN_BYTES, (20 + i * own_mb_a_minute) * kMb}});
      watch.Show();
    }
    return watch.told;
  };
  EXPECT_TRUE(grow(0).empty());
  ASSERT_FALSE(grow(1).empty()) << "all of it its own";
  EXPECT_THAT(grow(1)[0].evidence, HasSubstr("its own memory"));
}

TEST(LeakTest, AStartOfFourMinutesIsNoTrendHoweverShortTheEpochs) {
  Watch watch(LeakFilter());
  watch.length_s = 5;
  Grow(watch, 48, [](int i) { return 100 * kMb + i * kMb; });
  EXPECT_TRUE(watch.told.empty());
  EXPECT_EQ(watch.Learned().learned_epochs, 5u);
  EXPECT_STREQ(watch.Learned().unit, "minutes");
  Grow(watch, 26 * 12, [](int) { return 150 * kMb; });
  EXPECT_GE(watch.Learned().learned_epochs, watch.Learned().needed_epochs);
}

TEST(LeakTest, EpochsOfAMinuteCountAlsoIfTheyEndALittleEarly) {
  Watch watch(LeakFilter());
  for (int i = 0; i < 32; ++i) {
    watch.length_s = i % 2 == 0 ? 59 : 61;
    watch.Process(812, "/usr/bin/app", {{TELLTALE_PROCESS_RSS_BYTES, 20 * kMb + i * kMb}});
    watch.Show();
  }
  EXPECT_EQ(watch.told.size(), 1u);
}

TEST(LeakTest, WhatDoublesInHalfAnHourIsToldHoweverYoungItIs) {
  Watch watch(LeakFilter());
  Grow(watch, 50, [](int i) { return 20 * kMb + i * kMb; });
  ASSERT_EQ(watch.told.size(), 1u) << "and it goes on, though it takes longer to double again";
  EXPECT_LE(watch.told[0].end_ns - watch.told[0].start_ns, 31 * 60 * Watch::kSecond);
}

TEST(LeakTest, WhatGoesOnIsToldAgainWithEachDoublingOfWhatItGrewBy) {
  Watch watch(LeakFilter());
  Grow(watch, 1'000, [](int i) { return 20 * kMb + i * kMb; });
  const std::vector<std::string> so_far = {"29 MB",  "58 MB",  "116 MB",
                                           "232 MB", "464 MB", "928 MB"};
  ASSERT_EQ(watch.told.size(), so_far.size());
  for (size_t i = 0; i < so_far.size(); ++i) {
    EXPECT_THAT(watch.told[i].text, HasSubstr(": " + so_far[i] + " so far"));
    EXPECT_EQ(watch.told[i].start_ns, watch.told[0].start_ns) << "the same anomaly";
    EXPECT_EQ(watch.told[i].subject, watch.told[0].subject);
    EXPECT_TRUE(watch.told[i].open);
  }
}

TEST(LeakTest, ThatItGivesNothingBackIsSaidOnlyOfOneThatDoesNot) {
  const auto told = [](double breath) {
    Watch watch(LeakFilter());
    Grow(watch, 50, [&](int i) { return 20 * kMb + i * kMb + i % 2 * breath * kMb; });
    EXPECT_EQ(watch.told.size(), 1u);
    return watch.told.empty() ? Watch::Told{} : watch.told[0];
  };
  EXPECT_THAT(told(0).text, HasSubstr("60 MB an hour and gives nothing back: "));
  EXPECT_THAT(told(0).evidence, HasSubstr("; 0 % of what it took came back"));
  EXPECT_THAT(told(1.5).text, HasSubstr("60 MB an hour: "));
  EXPECT_THAT(told(1.5).evidence, HasSubstr("; 19 % of what it took came back"));
}

void Open(Watch& watch, int epochs, const std::function<double(int)>& files) {
  for (int i = 0; i < epochs; ++i) {
    watch.Process(812, "/usr/bin/app", {{TELLTALE_PROCESS_OPEN_FILES, std::floor(files(i))}});
    watch.Show();
  }
}

TEST(DescriptorLeakTest, AProcessThatOpensAndClosesNoneIsNamedWithItsPace) {
  Watch watch(DescriptorLeakFilter());
  Open(watch, 50, [](int i) { return 20 + 4.0 * i + i % 2; });
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].subject, "app (pid 812, uid 0)");
  EXPECT_EQ(watch.told[0].cause, "descriptor leak");
  EXPECT_NEAR(watch.told[0].value * 3600, 240, 12);
  EXPECT_THAT(watch.told[0].text, HasSubstr("opens 240 files, pipes or sockets an hour more"));
  EXPECT_THAT(watch.told[0].text, HasSubstr(" are open"));
}

TEST(DescriptorLeakTest, AServerIsNotAccusedOfItsClients) {
  std::mt19937 random(11);
  std::normal_distribution<double> come_and_go(0, 1);
  const std::map<std::string, std::function<double(int)>> innocent = {
      {"a morning: three times the clients within the hour",
       [&](int i) { return 400 + std::min(i, 60) * 14 + 20 * come_and_go(random); }},
      {"a pool that fills", [](int i) { return 20 + 300 * (1 - std::exp(-i / 8.0)); }},
      {"twenty more an hour", [](int i) { return 30 + i / 3.0; }},
      {"opens a thousand, closes them", [](int i) { return 10 + (i % 20) * 50; }},
  };
  for (const auto& [name, files] : innocent) {
    Watch watch(DescriptorLeakFilter());
    Open(watch, 150, files);
    EXPECT_TRUE(watch.told.empty()) << name << ": " << watch.told[0].text;
  }
}

// More processes than are followed, none of which grows, and some of which grew once.
TEST(LeakTest, OneThatIsStartedAmongManyIsFollowedAsTheyWere) {
  for (const telltale_filter* filter : {LeakFilter(), DescriptorLeakFilter()}) {
    Watch watch(filter);
    for (int i = 0; i < 110; ++i) {
      for (uint32_t pid = 100; pid < 160; ++pid) {
        const double grew = pid < 110 && i > 2 ? 1 : 0;
        watch.Process(pid, "/usr/lib/postgresql/bin/postgres",
                      {{TELLTALE_PROCESS_RSS_BYTES, (40 + grew) * kMb},
                       {TELLTALE_PROCESS_OPEN_FILES, 100 + 80 * grew}});
      }
      if (i >= 60) {
        watch.Process(5000, "/usr/bin/app",
                      {{TELLTALE_PROCESS_RSS_BYTES, 20 * kMb + (i - 60) * kMb},
                       {TELLTALE_PROCESS_OPEN_FILES, 20 + (i - 60) * 4.0}});
      }
      watch.Show();
    }
    ASSERT_EQ(watch.told.size(), 1u) << filter->name;
    EXPECT_EQ(watch.told[0].subject, "app (pid 5000, uid 0)");
    EXPECT_EQ(watch.told[0].learned, 30u) << "rows it was judged by";
  }
}

// Each of them has a row once, and fills a place for some minutes.
TEST(LeakTest, ThoseThatComeAndGoKeepNobodyFromBeingFollowed) {
  Watch watch(LeakFilter());
  uint32_t pid = 10'000;
  for (int i = 0; i < 50; ++i) {
    for (int n = 0; n < 60; ++n) {
      watch.Process(pid++, "/usr/bin/cc", {{TELLTALE_PROCESS_RSS_BYTES, 40 * kMb}});
    }
    watch.Process(5000, "/usr/bin/app", {{TELLTALE_PROCESS_RSS_BYTES, 20 * kMb + i * kMb}});
    watch.Show();
  }
  EXPECT_EQ(watch.told.size(), 1u);
}

TEST(LeakTest, EndsWithItsProcess) {
  Watch watch(LeakFilter());
  Grow(watch, 50, [](int i) { return 20 * kMb + i * kMb; });
  for (int i = 0; i < 5; ++i) watch.Show();
  EXPECT_EQ(watch.told.size(), 1u) << "epochs without a process table do not end it";
  for (int i = 0; i < 5; ++i) {
    watch.Process(9, "/usr/bin/calm", {{TELLTALE_PROCESS_RSS_BYTES, 50 * kMb}});
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 2u);
  EXPECT_FALSE(watch.told[1].open);
  EXPECT_EQ(watch.told[0].start_ns, watch.told[1].start_ns);
}

// Agents of late send the names of users; the process may also have become another program.
TEST(LeakTest, ItsEndIsToldOfTheSameSubjectWhateverTheProcessIsCalledThen) {
  for (const telltale_filter* filter : {LeakFilter(), DescriptorLeakFilter()}) {
    Watch watch(filter);
    for (int i = 0; i < 120; ++i) {
      const double grown = std::min(i, 50);
      watch.Process(812, "/usr/bin/app",
                    {{TELLTALE_PROCESS_RSS_BYTES, 20 * kMb + grown * kMb},
                     {TELLTALE_PROCESS_OPEN_FILES, 20 + 4 * grown}});
      if (i >= 40) {
        watch.body.mutable_host_names()->add_uid(0);
        watch.body.mutable_host_names()->add_user(watch.String("root"));
      }
      watch.Show();
    }
    ASSERT_EQ(watch.told.size(), 2u) << filter->name;
    EXPECT_TRUE(watch.told[0].open);
    EXPECT_FALSE(watch.told[1].open);
    EXPECT_EQ(watch.told[0].start_ns, watch.told[1].start_ns);
    EXPECT_EQ(watch.told[1].subject, watch.told[0].subject);
  }
}

// Only those that do most have a row; one that takes a little memory now and then seldom has.
TEST(LeakTest, OneWithoutARowForMinutesIsFollowed) {
  Watch watch(LeakFilter());
  watch.length_s = 5;
  for (int i = 0; i < 60 * 40; ++i) {
    watch.Process(9, "/usr/bin/calm", {{TELLTALE_PROCESS_RSS_BYTES, 50 * kMb}});
    if (i % 40 == 0) {
      watch.Process(812, "/usr/bin/app", {{TELLTALE_PROCESS_RSS_BYTES, 100 * kMb + i * kMb}});
    }
    watch.Show();
  }
  ASSERT_GE(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].subject, "app (pid 812, uid 0)");
}

const std::map<uint32_t, double> kRuns = {{TELLTALE_PROCESS_RUN_NS, 0.05e9}};

TEST(VanishedTest, AProgramThatWasAlwaysThereIsMissedWithHowItEnded) {
  Watch watch(VanishedFilter());
  for (int i = 0; i < 100; ++i) {
    watch.Process(1, "/usr/bin/other", kRuns);
    if (i < 80) watch.Process(500, "/usr/sbin/daemon", kRuns);
    if (i == 79) watch.Exit(500, "/usr/sbin/daemon", 0, 11);
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_TRUE(watch.told[0].open);
  EXPECT_EQ(watch.told[0].subject, "/usr/sbin/daemon");
  EXPECT_THAT(watch.told[0].text, HasSubstr("pid 500 (uid 0) ended by signal 11"));
  watch.Process(501, "/usr/sbin/daemon", kRuns);
  watch.Show();
  ASSERT_EQ(watch.told.size(), 2u);
  EXPECT_FALSE(watch.told[1].open);
  EXPECT_EQ(watch.told[0].start_ns, watch.told[1].start_ns);
}

// What is told of a daemon whose exit was of that cgroup.
Watch::Told GoneIn(const std::string& cgroup) {
  Watch watch(VanishedFilter());
  for (int i = 0; i < 85; ++i) {
    watch.Process(1, "/usr/bin/other", kRuns);
    if (i < 80) watch.Process(500, "/usr/sbin/daemon", kRuns);
    if (i == 79) {
      watch.Exit(500, "/usr/sbin/daemon", 1, 0);
      watch.body.mutable_events()->rbegin()->set_cgroup(watch.String(cgroup));
    }
    watch.Show();
  }
  EXPECT_EQ(watch.told.size(), 1u);
  return watch.told.empty() ? Watch::Told{} : watch.told[0];
}

TEST(VanishedTest, WhereItEndedIsTold) {
  const Watch::Told gone = GoneIn("/shop.slice/cart.service");
  EXPECT_EQ(gone.text,
            "/usr/sbin/daemon is gone: pid 500 (uid 0) exited with code 1, in cgroup "
            "/shop.slice/cart.service");
  EXPECT_EQ(gone.cgroup, "/shop.slice/cart.service");
}

TEST(VanishedTest, TheRootCgroupIsNoPlaceToName) {
  const Watch::Told gone = GoneIn("/");
  EXPECT_EQ(gone.text, "/usr/sbin/daemon is gone: pid 500 (uid 0) exited with code 1");
  EXPECT_EQ(gone.cgroup, "");
}

// Before Linux 6.8.
TEST(VanishedTest, OfWhoWasKilledForWantOfMemoryTheKernelMayTellThePidOnly) {
  const auto how = [](uint32_t victim, uint32_t signal) {
    Watch watch(VanishedFilter());
    for (int i = 0; i < 85; ++i) {
      watch.Process(1, "/usr/bin/other", kRuns);
      if (i < 80) watch.Process(500, "/usr/sbin/daemon", kRuns);
      if (i == 79) {
        v1::DiscreteEvent& event = *watch.body.add_events();
        event.set_type(v1::EVENT_TYPE_OOM);
        event.set_pid(victim);
        watch.Exit(500, "/usr/sbin/daemon", 0, signal);
      }
      watch.Show();
    }
    return watch.told.empty() ? "" : watch.told[0].text;
  };
  EXPECT_EQ(how(500, 9), "/usr/sbin/daemon is gone: pid 500 (uid 0) was killed for want of memory");
  EXPECT_EQ(how(501, 9), "/usr/sbin/daemon is gone: pid 500 (uid 0) ended by signal 9");
  EXPECT_EQ(how(500, 11), "/usr/sbin/daemon is gone: pid 500 (uid 0) ended by signal 11");
}

// How many epochs without it until it is told of; 0: not within five.
int EpochsUntilMissed(bool seen_to_end, double cpus, bool replaced) {
  Watch watch(VanishedFilter());
  for (int i = 0; i < 85; ++i) {
    const std::map<uint32_t, double> runs = {{TELLTALE_PROCESS_RUN_NS, cpus * 1e9}};
    watch.Process(1, "/usr/bin/other", kRuns);
    if (i < 80) watch.Process(500, "/usr/sbin/daemon", runs);
    if (i == 79 && replaced) watch.Process(501, "/usr/sbin/daemon", runs);
    if (i == 79 && seen_to_end) watch.Exit(500, "/usr/sbin/daemon", 0, 11);
    watch.Show();
    if (!watch.told.empty()) return i - 79;
  }
  return 0;
}

// Equal exits of an epoch are told as one, without a process.
TEST(VanishedTest, OfWorkersThatEndTogetherTheirNumberIsTold) {
  Watch watch(VanishedFilter());
  for (int i = 0; i < 100; ++i) {
    watch.Process(1, "/usr/bin/other", kRuns);
    for (uint32_t pid = 500; i < 80 && pid < 508; ++pid) {
      watch.Process(pid, "/usr/sbin/server", kRuns);
    }
    if (i == 79) {
      watch.Exit(0, "/usr/sbin/server", 0, 0);
      watch.body.mutable_events()->rbegin()->set_count(8);
    }
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text, "/usr/sbin/server is gone: 8 processes (uid 0) exited with code 0");
}

TEST(VanishedTest, WhatWasSeenToEndIsMissedInItsFirstEpochWithoutARow) {
  EXPECT_EQ(EpochsUntilMissed(true, 0.1, false), 1);
  EXPECT_EQ(EpochsUntilMissed(false, 0.1, false), 3) << "it may be there and do nothing";
  EXPECT_EQ(EpochsUntilMissed(true, 0.002, false), 3) << "what took its place may have no row";
  EXPECT_EQ(EpochsUntilMissed(true, 0.1, true), 3) << "another one was started at once";
}

// A daemon that is there all the time, and a storm of processes in which it loses its row. Then it
// is back, or, if it ended meanwhile, is not.
std::vector<Watch::Told> InAStorm(bool seen_to_end, bool back) {
  Watch watch(VanishedFilter());
  for (int i = 0; i < 100; ++i) {
    const bool storm = i >= 80 && i < 88;
    watch.Process(1, "/usr/bin/other", kRuns);
    watch.Others(storm ? 4'000 : 90, {{TELLTALE_PROCESS_RUN_NS, storm ? 1.5e9 : 0.02e9}});
    if (i < 80 || (i >= 88 && back)) watch.Process(500, "/usr/sbin/daemon", kRuns);
    if (i == 79 && seen_to_end) watch.Exit(500, "/usr/sbin/daemon", 0, 11);
    watch.Show();
  }
  return watch.told;
}

TEST(VanishedTest, WhatMayBeAmongManyWithoutARowIsNotMissed) {
  EXPECT_TRUE(InAStorm(false, true).empty());
  const auto gone = InAStorm(false, false);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ((gone[0].end_ns - gone[0].start_ns) / (60 * Watch::kSecond), 8u + 3u);
  EXPECT_EQ(InAStorm(true, false).size(), 1u) << "its end was seen";
}

TEST(VanishedTest, JobsThatComeAndGoAndProgramsThatHardlyRunAreNotMissed) {
  Watch watch(VanishedFilter());
  for (int i = 0; i < 300; ++i) {
    watch.Process(1, "/usr/bin/other", kRuns);
    if (i % 10 < 8) watch.Process(500, "/usr/bin/job", kRuns);
    if (i < 200) watch.Process(600, "/usr/bin/idle", {{TELLTALE_PROCESS_RUN_NS, 1e4}});
    watch.Show();
  }
  EXPECT_TRUE(watch.told.empty());
}

}  // namespace
}  // namespace telltale::filter
