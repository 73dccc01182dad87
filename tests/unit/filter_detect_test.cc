// The detectors on data with and without what they look for.

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "collector/filter/detect/detectors.h"
#include "collector/filter/detect/robust.h"
#include "tests/unit/filter_watch.h"

namespace telltale::filter {
namespace {

using ::testing::HasSubstr;
constexpr uint64_t kSecond = Watch::kSecond;

class Noise {
 public:
  explicit Noise(uint32_t seed) : random_(seed) {}
  double operator()(double mean, double deviation) { return mean + deviation * normal_(random_); }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

TEST(RobustTest, MedianAndMadOfSmallLists) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({4, 1}), 2.5);
  EXPECT_EQ(Median({9, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(MadScale({1, 1, 2, 2, 4, 6, 9}), 1.4826);
}

TEST(RobustTest, MadIsTheDeviationOfNormalValuesAndDoesNotSeeATenthOfOutliers) {
  Noise noise(1);
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) values.push_back(noise(5, 2));
  EXPECT_NEAR(MadScale(values), 2, 0.05);
  for (int i = 0; i < 2'000; ++i) values[static_cast<size_t>(i)] = 1e6;
  EXPECT_NEAR(MadScale(values), 2, 0.4);
  EXPECT_NEAR(Median(values), 5, 0.4);
}

TEST(RobustTest, TheilSenFindsASlopeThroughOutliersAndKendallItsChance) {
  std::vector<double> x, y;
  for (int i = 0; i < 30; ++i) {
    x.push_back(i);
    y.push_back(i % 7 == 3 ? 1e5 : 2 * i + 1);
  }
  EXPECT_NEAR(TheilSen(x, y).slope, 2, 0.5);
  EXPECT_LT(TheilSen(x, y).p, 1e-3);
  for (double& value : y) value = 7;
  EXPECT_EQ(TheilSen(x, y).p, 1);
  // Ten in ascending order: S = 45, variance 125; (45 - 1) / 11.18 = 3.94 deviations.
  std::vector<double> ten;
  for (int i = 0; i < 10; ++i) ten.push_back(i);
  EXPECT_NEAR(TheilSen(ten, ten).p, 4.2e-5, 0.2e-5);
}

TEST(RobustTest, KendallsChanceIsHonest) {
  Noise noise(2);
  int below = 0;
  for (int round = 0; round < 2'000; ++round) {
    std::vector<double> x, y;
    for (int i = 0; i < 30; ++i) {
      x.push_back(i);
      y.push_back(noise(0, 1));
    }
    below += TheilSen(x, y).p < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(below, 100, 40);
}

TEST(RobustTest, BinomialTailIsTheSumOfItsTerms) {
  EXPECT_EQ(BinomialTail(10, 0, 0.3), 1);
  EXPECT_NEAR(BinomialTail(3, 2, 0.5), 0.5, 1e-12);
  EXPECT_NEAR(BinomialTail(10, 10, 0.5), 1.0 / 1024, 1e-12);
  EXPECT_EQ(BinomialTail(4, 5, 0.5), 0);
}

TEST(EpochViewTest, LabelsComeByTheirBoundsHeaviestFirst) {
  const v1::Schema schema = proto::BuiltinSchema();
  v1::SummaryBody body;
  for (const char* exe : {"/usr/bin/a", "/usr/bin/b", "/usr/bin/c", "/usr/bin/d"}) {
    body.mutable_tables()->add_strings(exe);
  }
  v1::Vital& cpu = *body.add_vitals();
  cpu.set_id(1);
  cpu.set_state(v1::VITAL_STATE_ACTIVE);
  const auto add = [&](uint32_t exe, uint64_t samples, uint64_t low, uint64_t high) {
    v1::FoldedSample& sample = *cpu.add_samples();
    sample.set_exe(exe);
    sample.add_label(0);
    sample.set_samples(samples);
    sample.set_low(low);
    sample.set_high(high);
  };
  // As agents send them, by what was sampled of each stack.
  add(1, 9, 10, 40);
  add(2, 8, 30, 30);
  add(3, 7, 10, 20);
  add(4, 6, 30, 60);
  add(4, 5, 30, 60);
  SourceEpoch epoch;
  epoch.span = {.start_ns = 0, .end_ns = kSecond, .watched_ns = kSecond};
  epoch.body = &body;
  epoch.schema = &schema;
  telltale_filter filter = {};
  filter.needs = TELLTALE_NEEDS_LABELS;
  const EpochView view(epoch, filter);
  ASSERT_EQ(view.get()->vital_count, 1u);
  std::vector<uint64_t> samples;
  for (uint32_t i = 0; i < view.get()->vitals->label_count; ++i) {
    samples.push_back(view.get()->vitals->labels[i].samples);
  }
  EXPECT_THAT(samples, testing::ElementsAre(6, 5, 8, 9, 7));
}

TEST(LevelShiftTest, ANewLevelIsToldOnceWithItsBeginning) {
  Watch watch(LevelShiftFilter());
  Noise noise(3);
  uint64_t began = 0;
  for (int i = 0; i < 400; ++i) {
    if (i == 200) began = watch.now;
    watch.Rate("cpu", "user", noise(i < 200 ? 1 : 1.8, 0.05));
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].start_ns, began);
  EXPECT_NEAR(watch.told[0].value, 1.8, 0.1);
  EXPECT_NEAR(watch.told[0].expected, 1, 0.1);
  EXPECT_THAT(watch.told[0].text, HasSubstr("cpu/user went from 1"));
  EXPECT_FALSE(watch.told[0].against.empty());
}

TEST(LevelShiftTest, ASpikeIsNoLevel) {
  Watch watch(LevelShiftFilter());
  Noise noise(4);
  for (int i = 0; i < 400; ++i) {
    watch.Rate("cpu", "user", i >= 200 && i < 206 ? 3 : noise(1, 0.05));
    watch.Show();
  }
  EXPECT_TRUE(watch.told.empty());
}

// Normal, heavy-tailed, slowly wandering, and on for a while and off for a while.
TEST(LevelShiftTest, LoadsWithoutAShiftGiveNone) {
  int epochs = 0, told = 0;
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    Watch watch(LevelShiftFilter());
    Noise noise(seed);
    double wander = 0;
    for (int i = 0; i < 2'500; ++i, ++epochs) {
      wander = 0.8 * wander + noise(0, 0.1);
      watch.Rate("cpu", "user", noise(2, 0.3));
      watch.Rate("cpu", "kernel", std::exp(noise(0, 1)) / 4);
      watch.Rate("sched_delay", "woken", 2 + wander);
      watch.Rate("disk_io", "write_done", i / 15 % 2 == 0 ? 5e6 : 40e6);
      watch.Show();
    }
    told += static_cast<int>(watch.told.size());
  }
  // A wandering series does reach other levels now and then.
  EXPECT_LE(told, 8) << "of " << 4 * epochs << " epochs of a series";
}

TEST(LevelShiftTest, IsSilentWhileItLearnsAndSaysHowFarItIs) {
  Watch watch(LevelShiftFilter());
  for (int i = 0; i < 59; ++i) {
    watch.Rate("cpu", "user", i < 40 ? 1 : 3);
    watch.Show();
  }
  EXPECT_TRUE(watch.told.empty());
  EXPECT_EQ(watch.Learned().learned_epochs, 59u);
  EXPECT_EQ(watch.Learned().needed_epochs, 60u);
}

TEST(LevelShiftTest, AVitalThatWasNotWatchedHasNoLevel) {
  Watch watch(LevelShiftFilter());
  for (int i = 0; i < 300; ++i) {
    if (i < 200) {
      watch.Rate("blocking", "disk", 2);
    } else {
      watch.Vital("blocking").set_unwatched_ns(60 * kSecond);
    }
    watch.Show();
  }
  EXPECT_TRUE(watch.told.empty());
}

TEST(LevelShiftTest, LevelsBeforeAndAfterALongHoleAreNotCompared) {
  for (const int epochs_missing : {2, 360}) {
    Watch watch(LevelShiftFilter());
    Noise noise(6);
    for (int i = 0; i < 240; ++i) {
      if (i == 200) watch.now += static_cast<uint64_t>(epochs_missing) * 60 * kSecond;
      watch.Rate("cpu", "user", noise(i < 200 ? 1 : 1.8, 0.05));
      watch.Show();
    }
    EXPECT_EQ(watch.told.size(), epochs_missing == 2 ? 1u : 0u) << epochs_missing;
  }
}

TEST(LevelShiftTest, LevelsBeforeAndAfterAVitalWasAwayForHoursAreNotCompared) {
  Watch watch(LevelShiftFilter());
  Noise noise(8);
  for (int i = 0; i < 640; ++i) {
    watch.Rate("cpu", "user", 1);
    if (i < 200 || i >= 560) {
      watch.Rate("blocking", "disk", noise(i < 200 ? 1 : 1.8, 0.05));
    } else {
      watch.Vital("blocking").set_unwatched_ns(60 * kSecond);
    }
    watch.Show();
  }
  EXPECT_TRUE(watch.told.empty());
}

// Two windows of ten epochs at least: with fewer on one side there is nothing to compare.
TEST(LevelShiftTest, FewerThanTenEpochsOfANewLevelAreNoneAndTenAre) {
  for (const int epochs : {7, 20}) {
    Watch watch(LevelShiftFilter());
    Noise noise(7);
    for (int i = 0; i < 100 + epochs; ++i) {
      watch.Rate("cpu", "user", noise(i < 100 ? 1 : 3, 0.05));
      watch.Show();
    }
    EXPECT_EQ(watch.told.size(), epochs == 20 ? 1u : 0u) << epochs;
  }
  // Before: a series that was seen for less than both windows is not judged, whatever it does.
  Watch late(LevelShiftFilter());
  for (int i = 0; i < 200; ++i) {
    late.Rate("cpu", "user", 1);
    if (i < 180) {
      late.Vital("blocking").set_unwatched_ns(60 * kSecond);
    } else {
      late.Rate("blocking", "disk", i < 189 ? 1 : 6);
    }
    late.Show();
  }
  EXPECT_TRUE(late.told.empty());
}

v1::RollupWindow HourOf(double cpus) {
  v1::RollupWindow hour;
  hour.set_watched_ns(3'600 * kSecond);
  v1::VitalTotals& cpu = *hour.add_vitals();
  cpu.set_id(1);
  cpu.set_state(v1::VITAL_STATE_ACTIVE);
  cpu.add_subs()->set_weight(static_cast<uint64_t>(cpus * 3'600e9));
  return hour;
}

// Every evening hour is busy, for `weeks` weeks before.
void Evenings(Watch& watch, uint64_t weeks) {
  const uint64_t hour = watch.now;
  for (uint64_t week = 1; week <= weeks; ++week) {
    for (const int beside : {-1, 0, 1}) {
      const uint64_t at =
          hour - week * 7 * storage::kDayNs + static_cast<uint64_t>(beside) * storage::kHourNs;
      watch.hours[at] = HourOf(3 + 0.02 * static_cast<double>(week) * beside);
    }
  }
}

void OneHour(Watch& watch, double cpus) {
  for (int i = 0; i < 61; ++i) {  // and the first epoch of the next
    watch.Rate("cpu", "user", cpus);
    watch.Show();
  }
}

TEST(SeasonalTest, ABusyHourThatIsAlwaysBusyIsUsualAndAQuietOneIsNot) {
  Watch usual(SeasonalFilter());
  Evenings(usual, 5);
  OneHour(usual, 3.05);
  EXPECT_TRUE(usual.told.empty());
  Watch quiet(SeasonalFilter());
  Evenings(quiet, 5);
  const uint64_t hour = quiet.now;
  OneHour(quiet, 0.5);
  ASSERT_EQ(quiet.told.size(), 1u);
  EXPECT_EQ(quiet.told[0].start_ns, hour);
  EXPECT_EQ(quiet.told[0].end_ns, hour + storage::kHourNs);
  EXPECT_LT(quiet.told[0].severity, -6);
  EXPECT_THAT(quiet.told[0].text, HasSubstr("low for this hour of the week"));
}

TEST(SeasonalTest, TwoWeeksAreNotEnough) {
  Watch watch(SeasonalFilter());
  Evenings(watch, 2);
  OneHour(watch, 0.5);
  EXPECT_TRUE(watch.told.empty());
  EXPECT_EQ(watch.Learned().learned_epochs, 2u);
  EXPECT_EQ(watch.Learned().needed_epochs, 3u);
  EXPECT_STREQ(watch.Learned().unit, "weeks");
}

TEST(SeasonalTest, APastHourInWhichAVitalWasAwayIsNoHistory) {
  Watch watch(SeasonalFilter());
  Evenings(watch, 5);
  for (auto& [at, hour] : watch.hours) {
    hour.mutable_vitals(0)->set_state(v1::VITAL_STATE_UNAVAILABLE);
  }
  OneHour(watch, 0.5);
  EXPECT_TRUE(watch.told.empty());
}

std::vector<telltale_filter_option> LearnFor(double epochs) {
  return {{"new_label_learn", epochs}};
}

TEST(NewLabelTest, WhatWasNeverSeenAndIsHeavyIsToldOnce) {
  Watch watch(NewLabelFilter(), LearnFor(100));
  for (int i = 0; i < 200; ++i) {
    watch.Rate("cpu", "user", 2);
    watch.Label("cpu", "user", "/usr/bin/old", 1.5);
    if (i >= 150) watch.Label("cpu", "user", "/usr/bin/miner", 0.4);
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].subject, "/usr/bin/miner");
  EXPECT_THAT(watch.told[0].text, HasSubstr("is new in cpu"));
}

TEST(NewLabelTest, LightOnesOneOffsAndKnownOnesAreNot) {
  Watch watch(NewLabelFilter(), LearnFor(100));
  for (int i = 0; i < 1'000; ++i) {
    watch.Rate("cpu", "user", 2);
    watch.Label("cpu", "user", "/usr/bin/old", 1.5);
    if (i % 50 == 0) watch.Label("cpu", "user", "/usr/bin/cron", 0.5);
    if (i == 300) watch.Label("cpu", "user", "/usr/bin/once", 1);
    if (i > 400) watch.Label("cpu", "user", "/usr/bin/light", 0.01);
    watch.Show();
  }
  EXPECT_TRUE(watch.told.empty());
}

// From its 45th second on it takes 0.3 of the CPU time.
TEST(NewLabelTest, WhatBeginsLateInAnEpochIsToldAsWhatBeginsWithOne) {
  Watch watch(NewLabelFilter(), LearnFor(100));
  uint64_t whole_ns = 0;
  for (int i = 0; i < 200; ++i) {
    watch.Rate("cpu", "user", 2);
    watch.Label("cpu", "user", "/usr/bin/old", 1.3);
    if (i == 151) whole_ns = watch.now;
    if (i >= 150) watch.Label("cpu", "user", "/usr/bin/miner", i == 150 ? 0.15 : 0.6);
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].subject, "/usr/bin/miner");
  EXPECT_EQ(watch.told[0].start_ns, whole_ns);
}

TEST(NewLabelTest, WhatIsAlwaysThereAndSeldomHeavyIsKnownByThen) {
  Watch watch(NewLabelFilter(), LearnFor(100));
  for (int i = 0; i < 400; ++i) {
    watch.Rate("cpu", "user", 2);
    watch.Label("cpu", "user", "/usr/bin/old", 1.3);
    if (i >= 150) watch.Label("cpu", "user", "/usr/bin/batch", i % 5 == 0 || i > 300 ? 0.6 : 0.01);
    watch.Show();
  }
  EXPECT_TRUE(watch.told.empty());
}

// Two calls of a new program: the heaviest is told, and no other in its place.
TEST(NewLabelTest, OfAProgramsNewLabelsTheHeaviestIsTold) {
  Watch watch(NewLabelFilter(), LearnFor(100));
  for (int i = 0; i < 200; ++i) {
    watch.Rate("syscall", "ok", 1e5);
    if (i >= 150) watch.Label("syscall", "ok", "/usr/bin/app", 4.5e4).set_label(0, 1);
    if (i >= 150) watch.Label("syscall", "ok", "/usr/bin/app", 1.2e4).set_label(0, 2);
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("45 % of it"));
}

// Each write is told when it is issued and when it is done.
TEST(NewLabelTest, ATenthOfWhatWasAskedOfDisksIsATenthWhateverCameBack) {
  Watch watch(NewLabelFilter(), LearnFor(100));
  for (int i = 0; i < 200; ++i) {
    watch.Rate("disk_io", "write_issued", 10e6);
    watch.Rate("disk_io", "write_done", 10e6);
    watch.Label("disk_io", "write_done", "", 9e6);
    if (i >= 150) watch.Label("disk_io", "write_issued", "/usr/bin/miner", 1.5e6);
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, HasSubstr("at least 1.5 MB/s, 15 % of it"));
}

// With epochs of five seconds they are as many in two hours.
TEST(NewLabelTest, NothingIsNewBeforeADayIsOverHoweverShortTheEpochs) {
  Watch watch(NewLabelFilter());
  watch.length_s = 5;
  const int day = 24 * 3'600 / 5;
  for (int i = 0; i < day + 20; ++i) {
    watch.Rate("cpu", "user", 2);
    watch.Label("cpu", "user", "/usr/bin/old", 1.5);
    if (i >= 1'500 && i < 1'510) watch.Label("cpu", "user", "/usr/bin/nightly", 0.4);
    if (i >= day + 10) watch.Label("cpu", "user", "/usr/bin/miner", 0.4);
    watch.Show();
    if (i == 1'500) {
      EXPECT_LT(watch.Learned().learned_epochs, watch.Learned().needed_epochs);
    }
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].subject, "/usr/bin/miner");
}

TEST(NewLabelTest, AnotherBuildIsADeployAndWhatItBringsCountsHalfForThirtyEpochs) {
  // A call of its own that the new build begins with after so many epochs.
  const auto run = [](bool deployed, int after) {
    Watch watch(NewLabelFilter(), LearnFor(50));
    for (int i = 0; i < 130; ++i) {
      v1::Mapping& mapping = *watch.body.mutable_tables()->add_mappings();
      mapping.set_kind(v1::MAPPING_KIND_FILE);
      mapping.set_path(watch.String("/usr/bin/app"));
      mapping.set_build_id(deployed && i >= 80 ? "two" : "one");
      watch.Rate("syscall", "ok", 1e5);
      watch.Label("syscall", "ok", "/usr/bin/app", 5e4).set_label(0, 3);
      if (i >= 80 + after) watch.Label("syscall", "ok", "/usr/bin/app", 2e4).set_label(0, 99);
      watch.Show();
    }
    EXPECT_EQ(watch.told.size(), 1u);
    EXPECT_EQ(watch.marks.size(), deployed ? 1u : 0u);
    return watch.told.empty() ? 0 : watch.told[0].severity;
  };
  // Told in the second epoch it is there.
  EXPECT_DOUBLE_EQ(run(true, 2) * 2, run(false, 2));
  EXPECT_DOUBLE_EQ(run(true, 29) * 2, run(false, 29)) << "in the 30th after the deploy";
  EXPECT_DOUBLE_EQ(run(true, 30), run(false, 30)) << "in the 31st it is over";
}

void Maps(Watch& watch, const std::string& exe, const std::string& build) {
  v1::Mapping& mapping = *watch.body.mutable_tables()->add_mappings();
  mapping.set_kind(v1::MAPPING_KIND_FILE);
  mapping.set_path(watch.String(exe));
  mapping.set_build_id(build);
  watch.Label("cpu", "user", exe, 0.5);
}

// Two images with a program of the same path, or what still runs of before an upgrade.
TEST(NewLabelTest, BuildsThatRunBesideEachOtherAreNoDeploys) {
  Watch watch(NewLabelFilter(), LearnFor(50));
  for (int i = 0; i < 200; ++i) {
    watch.Rate("cpu", "user", 2);
    Maps(watch, "/usr/local/bin/node", i % 3 == 0 ? "one" : "two");
    Maps(watch, "/usr/sbin/sshd", i >= 100 && i % 2 == 0 ? "upgraded" : "old");
    watch.Show();
  }
  EXPECT_THAT(watch.marks, testing::ElementsAre("deploy: /usr/local/bin/node has another build id",
                                                "deploy: /usr/sbin/sshd has another build id"));
}

TEST(NewLabelTest, ABuildThatWasReplacedWeeksAgoAndComesBackIsADeploy) {
  Watch watch(NewLabelFilter(), LearnFor(5));
  const auto show = [&](const char* build) {
    for (int i = 0; i < 3; ++i) {
      watch.Rate("cpu", "user", 2);
      Maps(watch, "/usr/bin/app", build);
      Maps(watch, "/usr/bin/weekly", "one");
      watch.Show();
    }
    watch.now += 4 * storage::kDayNs;
  };
  show("one");
  for (int i = 0; i < 3; ++i) show("two");
  EXPECT_EQ(watch.marks.size(), 1u);
  show("one");
  EXPECT_EQ(watch.marks.size(), 2u);
  watch.now += 4 * storage::kDayNs;
  show("one");
  EXPECT_EQ(watch.marks.size(), 2u) << "a node that was away for a week runs what it ran";
}

TEST(NewLabelTest, OfMoreBuildsThanItKnowsNoneIsADeployUntilOneIsOutOfUse) {
  Watch watch(NewLabelFilter(), LearnFor(50));
  const auto show = [&](int build) {
    watch.Rate("cpu", "user", 2);
    Maps(watch, "/usr/local/bin/node", absl::StrCat("image", build));
    watch.Show();
  };
  for (int i = 0; i < 400; ++i) show(i % 40);
  EXPECT_EQ(watch.marks.size(), 15u) << "those it has room for, without the first";
  watch.now += 8 * storage::kDayNs;
  show(40);
  EXPECT_EQ(watch.marks.size(), 16u);
}

// On a node that builds and tests, nothing runs under the same path again.
TEST(NewLabelTest, EverNewExecutablesDoNotFillItsState) {
  Watch watch(NewLabelFilter(), LearnFor(50));
  const auto runs = [&](const std::string& exe, const char* build) {
    v1::Mapping& mapping = *watch.body.mutable_tables()->add_mappings();
    mapping.set_kind(v1::MAPPING_KIND_FILE);
    mapping.set_path(watch.String(exe));
    mapping.set_build_id(build);
    watch.Label("cpu", "user", exe, 0.01);
  };
  const std::string sandbox = "/home/ci/.cache/" + std::string(180, 'x') + "/";
  for (int i = 0; i < 100; ++i) {
    watch.Rate("cpu", "user", 2);
    runs("/usr/bin/app", i < 90 ? "one" : "two");
    for (int test = 0; test < 50; ++test) {
      runs(sandbox + std::to_string(i * 50 + test) + "_test", "one");
    }
    watch.Show();
  }
  EXPECT_LT(watch.Save().size(), size_t{512} << 10);
  EXPECT_EQ(watch.marks.size(), 1u) << "what runs all the time is still known by its build";
}

TEST(SortTest, ItsSeriesTellOneThingFromMany) {
  Watch watch(SortFilter());
  watch.Rate("cpu", "user", 2);
  watch.Rate("blocking", "timer", 40);
  for (int i = 0; i < 14; ++i) watch.Label("cpu", "user", "/usr/bin/p" + std::to_string(i), 0.04);
  // Two labels of one program at one operation are one: these are the first. To one of them led two
  // stacks, each told with the weight of all.
  for (const uint64_t place : {1, 2, 2}) {
    watch.Label("cpu", "user", "/usr/bin/app", 0.03).set_label(0, place);
  }
  watch.Label("blocking", "timer", "/usr/bin/app", 40);  // waits by choice
  watch.Show();
  // Of bounds from once to twice that weight, the middle.
  EXPECT_NEAR(watch.points.at("heaviest cpu"), 1.5 * 0.06, 1e-9);
  EXPECT_NEAR(watch.points.at("ten_heaviest cpu"), 1.5 * (0.06 + 9 * 0.04), 1e-9);
  EXPECT_FALSE(watch.points.contains("heaviest blocking"));
  EXPECT_TRUE(watch.told.empty());
}

// A backup that makes the disks busy every now and then, and a job that comes as often at other
// times.
void DiskHours(Watch& watch, int epochs, bool together) {
  for (int i = 0; i < epochs; ++i) {
    const bool busy = i % 15 == 7;
    watch.Rate("disk_io", "write_done", busy ? 80e6 : 2e6 + i % 5 * 1e4);
    watch.Rate("cpu", "user", 1);
    watch.Label("cpu", "user", "/usr/bin/app", 0.5);
    if (together ? busy : i % 15 == 3) watch.Label("cpu", "user", "/usr/bin/backup", 0.3);
    watch.Show();
  }
}

TEST(AffinityTest, WhatIsAlwaysThereWhenAVitalIsHighIsToldOnce) {
  Watch watch(AffinityFilter());
  DiskHours(watch, 300, true);
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text, "whenever disk_io is high, /usr/bin/backup is there in cpu");
  EXPECT_GT(watch.told[0].value, 3);
}

TEST(AffinityTest, LabelsItHasNoRoomForAreCounted) {
  Watch watch(AffinityFilter());
  for (int i = 0; i < 10; ++i) {
    watch.Rate("cpu", "user", 1);
    for (int k = 0; k < 60; ++k) {
      watch.Label("cpu", "user", absl::StrCat("/usr/bin/p", i, "-", k), 0.015);
    }
    watch.Show();
    EXPECT_EQ(watch.no_room == 0, i < 8) << 60 * (i + 1) << " of 512";
  }
  EXPECT_EQ(watch.no_room, 600u - 512);
}

// A program at work has labels in one vital after the other.
TEST(AffinityTest, AProgramAndAVitalAreToldOnceByTheLabelThatSaysItBest) {
  Watch watch(AffinityFilter());
  for (int i = 0; i < 300; ++i) {
    const bool busy = i % 15 == 7, other = busy || i % 30 == 4;
    watch.Rate("disk_io", "write_done", busy ? 80e6 : 2e6 + i % 5 * 1e4);
    watch.Rate("cpu", "user", 1);
    watch.Rate("syscall", "ok", 4e3);
    watch.Rate("user_page", "minor", 4e3);
    if (other) watch.Label("cpu", "user", "/usr/bin/backup", 0.3);
    if (busy) watch.Label("syscall", "ok", "/usr/bin/backup", 900).set_label(0, 2);
    if (busy) watch.Label("syscall", "ok", "/usr/bin/tar", 900).set_label(0, 2);
    if (busy) watch.Label("user_page", "minor", "/usr/bin/backup", 900);
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 2u);
  EXPECT_EQ(watch.told[0].subject, "/usr/bin/backup");
  EXPECT_THAT(watch.told[0].text, testing::Not(testing::HasSubstr("is there in cpu")));
  EXPECT_EQ(watch.told[1].subject, "/usr/bin/tar");
}

// A server whose hundreds of threads wait for work.
TEST(AffinityTest, WaitingByChoiceHidesNothingAndIsNothing) {
  Watch watch(AffinityFilter());
  for (int i = 0; i < 300; ++i) {
    const bool busy = i % 15 == 7;
    watch.Rate("disk_io", "write_done", busy ? 80e6 : 2e6 + i % 5 * 1e4);
    watch.Rate("blocking", "poll", 300);
    watch.Rate("blocking", "lock", 0.5);
    if (busy) watch.Label("blocking", "lock", "/usr/bin/backup", 0.3);
    if (busy) watch.Label("blocking", "poll", "/usr/bin/server", 200);
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_EQ(watch.told[0].text, "whenever disk_io is high, /usr/bin/backup is there in blocking");
}

// High once in `period` epochs, with a job that is there then, and at no other time.
size_t ToldOfAJobEvery(int period) {
  Watch watch(AffinityFilter());
  for (int i = 0; i < 400; ++i) {
    const bool busy = i % period == 7;
    watch.Rate("disk_io", "write_done", busy ? 80e6 : 2e6 + i % 5 * 1e4);
    watch.Rate("cpu", "user", 1);
    if (busy) watch.Label("cpu", "user", "/usr/bin/backup", 0.3);
    watch.Show();
  }
  return watch.told.size();
}

TEST(AffinityTest, FourEpochsTogetherAreTooFewAndFiveAreEnough) {
  EXPECT_EQ(ToldOfAJobEvery(30), 0u);
  EXPECT_EQ(ToldOfAJobEvery(24), 1u);
}

// High in five epochs of forty, with a program that is there then and in `others` more of them.
size_t ToldOfOneThereBesides(int others) {
  Watch watch(AffinityFilter());
  for (int i = 0; i < 400; ++i) {
    const bool busy = i % 8 == 7;
    watch.Rate("disk_io", "write_done", busy ? 80e6 : 2e6 + i % 5 * 1e4);
    watch.Rate("cpu", "user", 1);
    // The seventh is a busy one.
    if (busy || i % 40 < others + 1) watch.Label("cpu", "user", "/usr/bin/backup", 0.3);
    watch.Show();
  }
  return watch.told.size();
}

TEST(AffinityTest, ThreeTimesAsOftenAsElseIsTheBorder) {
  EXPECT_EQ(ToldOfOneThereBesides(9), 0u) << "in 14 of 40 epochs: 2.9 times as often";
  EXPECT_EQ(ToldOfOneThereBesides(8), 1u) << "in 13 of 40: 3.1 times";
}

TEST(AffinityTest, WhatIsAlwaysThereOrAtOtherTimesIsNot) {
  Watch watch(AffinityFilter());
  DiskHours(watch, 600, false);
  EXPECT_TRUE(watch.told.empty());
}

// A hundred labels that come and go by chance, over a thousand epochs.
TEST(AffinityTest, ChanceAloneTellsNothing) {
  Watch watch(AffinityFilter());
  std::mt19937 random(7);
  for (int i = 0; i < 1'000; ++i) {
    watch.Rate("disk_io", "write_done", random() % 10 == 0 ? 80e6 : 2e6);
    watch.Rate("cpu", "user", 1);
    for (int label = 0; label < 100; ++label) {
      if (random() % 8 == 0) {
        watch.Label("cpu", "user", absl::StrCat("/usr/bin/job", label), 0.02);
      }
    }
    watch.Show();
  }
  EXPECT_LE(watch.told.size(), 1u);
}

// Every built-in filter: a saved state goes on as if nothing had happened, and garbage is refused.
TEST(DetectorStateTest, GoesOnFromASavedState) {
  const auto show = [](Watch& watch, int i) {
    Noise noise(static_cast<uint32_t>(i + 1));
    watch.Rate("cpu", "user", noise(i < 150 ? 1 : 2.5, 0.05));
    watch.Label("cpu", "user", i < 180 ? "/usr/bin/app" : "/usr/bin/new", 0.9);
    watch.Process(7, "/usr/bin/app",
                  {{TELLTALE_PROCESS_RUN_NS, i < 150 ? 0.1e9 : 0.99e9},
                   {TELLTALE_PROCESS_RSS_BYTES, 1e8 + i * 1e6}});
    if (i < 170) watch.Process(8, "/usr/bin/gone", {{TELLTALE_PROCESS_RUN_NS, 0.1e9}});
    watch.Show();
  };
  for (const telltale_filter* filter : BuiltinFilters()) {
    Watch whole(filter, LearnFor(60)), second(filter, LearnFor(60));
    for (int i = 0; i < 250; ++i) {
      if (i == 160) {
        second.now = whole.now;
        ASSERT_TRUE(second.Load(whole.Save())) << filter->name;
        second.told = whole.told;
      }
      show(whole, i);
      if (i >= 160) show(second, i);
    }
    EXPECT_EQ(whole.told, second.told) << filter->name;
    EXPECT_EQ(whole.Save(), second.Save()) << filter->name;
    if (filter == BuiltinFilters().front()) continue;  // its own test has it
    const std::string state = whole.Save();
    for (size_t cut = 0; cut < state.size(); cut += state.size() / 17 + 1) {
      EXPECT_FALSE(second.Load(state.substr(0, cut))) << filter->name << " of " << cut;
    }
  }
}

TEST(DetectorStateTest, TellsWhatItIsAndHowMuchItNeeds) {
  for (const telltale_filter* filter : BuiltinFilters()) {
    Watch watch(filter);
    EXPECT_GT(watch.Learned().needed_epochs, 0u) << filter->name;
    EXPECT_NE(filter->about, nullptr);
  }
}

}  // namespace
}  // namespace telltale::filter
