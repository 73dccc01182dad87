// The EWMA filter through the public interface alone.

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "collector/filter/ewma.h"
#include "tests/unit/filter_watch.h"

namespace telltale::filter {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

struct Found {
  std::string vital, sub;
  uint64_t start_ns, end_ns;
  bool open;
  double value, expected, severity;
  uint64_t learned;
  bool operator==(const Found&) const = default;
};

// One instance fed with one vital's rate per epoch of 10 s.
class Fed {
 public:
  explicit Fed(std::vector<telltale_filter_option> options = {}) {
    host_.struct_size = sizeof host_;
    host_.abi = TELLTALE_FILTER_ABI;
    host_.context = this;
    host_.node = "a";
    host_.anomaly = [](void* context, const telltale_filter_anomaly* anomaly) {
      static_cast<Fed*>(context)->texts.push_back(anomaly->text);
      static_cast<Fed*>(context)->found.push_back(
          {anomaly->vital, anomaly->sub, anomaly->start_ns, anomaly->end_ns, anomaly->open != 0,
           anomaly->value, anomaly->expected, anomaly->severity, anomaly->learned_epochs});
    };
    instance_ = filter_->create(&host_, options.data(), static_cast<uint32_t>(options.size()));
  }
  ~Fed() { filter_->destroy(instance_); }
  Fed(const Fed&) = delete;
  Fed& operator=(const Fed&) = delete;

  void Epoch(double rate, uint32_t kind = TELLTALE_EPOCH_FULL, uint64_t watched = 10 * kSecond) {
    telltale_filter_sub sub = {};
    sub.struct_size = sizeof sub;
    sub.name = "disk";
    sub.weight =
        static_cast<uint64_t>(std::max(rate, 0.0) * 1e9 * static_cast<double>(watched) / 1e9);
    sub.idle = idle ? 1 : 0;
    telltale_filter_vital vital = {};
    vital.struct_size = sizeof vital;
    vital.id = 4;
    vital.name = "blocking";
    vital.unit = "ns";
    vital.sub_count = 1;
    vital.subs = &sub;
    vital.watched_ns = vital_watched < watched ? vital_watched : watched;
    if (vital.watched_ns == 0) vital.sub_count = 0;
    telltale_filter_epoch epoch = {};
    epoch.struct_size = sizeof epoch;
    epoch.kind = kind;
    epoch.start_ns = now;
    epoch.end_ns = now + 10 * kSecond;
    epoch.watched_ns = watched;
    epoch.vital_count = 1;
    epoch.vitals = &vital;
    EXPECT_EQ(filter_->epoch(instance_, &epoch), 0);
    now += 10 * kSecond;
  }

  std::string Save() const {
    std::string bytes(filter_->save(instance_, nullptr, 0), '\0');
    filter_->save(instance_, bytes.data(), bytes.size());
    return bytes;
  }
  bool Load(const std::string& bytes) {
    return filter_->load(instance_, bytes.data(), bytes.size()) == 0;
  }

  std::pair<uint64_t, uint64_t> Learned() const {
    telltale_filter_learning learning = {};
    learning.struct_size = sizeof learning;
    filter_->learning(instance_, &learning);
    return {learning.learned_epochs, learning.needed_epochs};
  }

  std::vector<Found> found;
  std::vector<std::string> texts;
  uint64_t now = 1'000'000 * kSecond;
  bool idle = false;
  uint64_t vital_watched = UINT64_MAX;

 private:
  const telltale_filter* const filter_ = telltale_ewma_filter();
  telltale_filter_host host_ = {};
  void* instance_ = nullptr;
};

class Noise {
 public:
  explicit Noise(uint32_t seed) : random_(seed) {}
  double operator()() { return 2 + 0.2 * normal_(random_); }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

// What is said of a node on which a wait for disks goes up to 8 s in a second, and from there
// to 16.
std::vector<Watch::Told> HighBecauseOf(double app, double others) {
  Watch watch(telltale_ewma_filter());
  for (int i = 0; i < 46; ++i) {
    const bool high = i >= 40 && i < 44, higher = i >= 42;
    watch.Rate("blocking", "disk", !high ? 0.1 : higher ? 16 : 8);
    const uint32_t column = watch.Share("blocking", "disk", true);
    watch.Process(70, "/usr/bin/other", {{column, 0.01e9}});
    if (high) watch.Process(higher ? 813 : 812, "/usr/bin/app", {{column, app * 1e9}});
    watch.Others(300, {{column, others * 1e9}});
    watch.Show();
  }
  return watch.told;
}

TEST(EwmaTest, WhoHasMostOfWhatIsHighIsNamed) {
  using ::testing::EndsWith;
  using ::testing::HasSubstr;
  const auto most = HighBecauseOf(8, 1.99);
  ASSERT_EQ(most.size(), 2u);
  EXPECT_THAT(most[0].text, EndsWith("epochs); most of it is app (pid 812, uid 0), 80 %"));
  EXPECT_EQ(most[0].subject, "") << "it is the node's";
  EXPECT_THAT(most[1].text, HasSubstr("high at 16 s/s"));
  EXPECT_THAT(most[1].text, EndsWith("most of it is app (pid 813, uid 0), 80 %")) << "at the peak";
  EXPECT_THAT(HighBecauseOf(2, 7.99).at(0).text,
              EndsWith("; the largest part of it is app (pid 812, uid 0), 20 %"));
  EXPECT_THAT(HighBecauseOf(0.9, 9.09).at(0).text, EndsWith("epochs)")) << "9 %";
}

TEST(EwmaTest, OfWhatIsLowNobodyIsNamed) {
  Watch watch(telltale_ewma_filter());
  for (int i = 0; i < 41; ++i) {
    watch.Rate("blocking", "disk", i < 40 ? 8 : 1);
    watch.Process(812, "/usr/bin/app", {{watch.Share("blocking", "disk", true), 0.9e9}});
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, ::testing::EndsWith("epochs)"));
}

// As packets that come in: no process does it.
TEST(EwmaTest, WhatInterruptsDoIsNobodys) {
  Watch watch(telltale_ewma_filter());
  for (int i = 0; i < 41; ++i) {
    watch.Rate("softirq", "net_rx", i < 40 ? 0.01 : 1);
    watch.Process(0, "", {{watch.Share("softirq", "net_rx", true), i < 40 ? 0.01e9 : 1e9}});
    watch.body.mutable_processes()->mutable_rows(0)->set_irq(true);
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, ::testing::EndsWith("; most of it is in interrupts, 100 %"));
}

TEST(EwmaTest, OfProcessorTimeTheAccountOfTheKernelTellsWho) {
  Watch watch(telltale_ewma_filter());
  for (int i = 0; i < 41; ++i) {
    watch.Rate("cpu", "kernel", i < 40 ? 0.1 : 3);
    watch.Process(812, "/usr/bin/app", {{TELLTALE_PROCESS_SYSTEM_NS, i < 40 ? 0.05e9 : 3e9}});
    watch.Show();
  }
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_THAT(watch.told[0].text, ::testing::EndsWith("is app (pid 812, uid 0), 100 %"));
}

TEST(EwmaTest, FindsAPlantedSpikeOnce) {
  Fed fed;
  Noise noise(1);
  for (int i = 0; i < 200; ++i) fed.Epoch(noise());
  const uint64_t spike = fed.now;
  fed.Epoch(8);
  for (int i = 0; i < 200; ++i) fed.Epoch(noise());
  ASSERT_EQ(fed.found.size(), 2u);  // its beginning and its end
  EXPECT_TRUE(fed.found[0].open);
  EXPECT_EQ(fed.found[0].start_ns, spike);
  EXPECT_EQ(fed.found[0].value, 8);
  EXPECT_NEAR(fed.found[0].expected, 2, 0.15);
  EXPECT_GT(fed.found[0].severity, 6);
  EXPECT_EQ(fed.found[0].learned, 200u);
  EXPECT_FALSE(fed.found[1].open);
  EXPECT_EQ(fed.found[1].start_ns, spike);
  EXPECT_EQ(fed.found[1].end_ns, spike + 10 * kSecond);
}

TEST(EwmaTest, ALongWobblingSpikeIsOneAnomaly) {
  Fed fed;
  Noise noise(2);
  for (int i = 0; i < 200; ++i) fed.Epoch(noise());
  for (int i = 0; i < 8; ++i) fed.Epoch(i % 2 == 0 ? 8 : 6);
  for (int i = 0; i < 100; ++i) fed.Epoch(noise());
  ASSERT_EQ(fed.found.size(), 2u);
  EXPECT_EQ(fed.found[0].start_ns, fed.found[1].start_ns);
}

TEST(EwmaTest, QuietNoiseGivesNoneInTenThousandEpochs) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    Fed fed;
    Noise noise(seed);
    for (int i = 0; i < 10'000; ++i) fed.Epoch(noise());
    EXPECT_TRUE(fed.found.empty()) << "seed " << seed;
  }
}

TEST(EwmaTest, ASeriesOfNothingAndALittleIsNoAnomaly) {
  Fed fed;
  for (int i = 0; i < 1'000; ++i) fed.Epoch(i % 100 == 99 ? 0.03 : 0);
  EXPECT_TRUE(fed.found.empty());
}

TEST(EwmaTest, IsSilentWhileItLearns) {
  Fed fed;
  for (int i = 0; i < 29; ++i) fed.Epoch(1);
  fed.Epoch(50);
  EXPECT_TRUE(fed.found.empty());
  Fed learned;
  for (int i = 0; i < 30; ++i) learned.Epoch(1);
  learned.Epoch(50);
  EXPECT_EQ(learned.found.size(), 1u);
}

TEST(EwmaTest, TellsHowFarItHasLearned) {
  Fed fed;
  EXPECT_EQ(fed.Learned(), (std::pair<uint64_t, uint64_t>(0, 30)));
  for (int i = 0; i < 12; ++i) fed.Epoch(1);
  EXPECT_EQ(fed.Learned(), (std::pair<uint64_t, uint64_t>(12, 30)));
}

TEST(EwmaTest, ItsSentenceHasUnits) {
  Fed fed;
  for (int i = 0; i < 30; ++i) fed.Epoch(0.25);
  fed.Epoch(50);
  ASSERT_EQ(fed.texts.size(), 1u);
  EXPECT_EQ(fed.texts[0],
            "blocking/disk high at 50 s/s; usual is 250 ms/s, give or take 12.5 ms/s (learned from "
            "30 epochs)");
}

TEST(EwmaTest, ADropIsAnAnomalyToo) {
  Fed fed;
  Noise noise(3);
  for (int i = 0; i < 200; ++i) fed.Epoch(noise());
  fed.Epoch(0);
  ASSERT_EQ(fed.found.size(), 1u);
  EXPECT_LT(fed.found[0].severity, -6);
}

TEST(EwmaTest, ANewLevelIsAcceptedInTime) {
  Fed fed;
  Noise noise(4);
  for (int i = 0; i < 200; ++i) fed.Epoch(noise());
  for (int i = 0; i < 1'000; ++i) fed.Epoch(noise() + 4);
  ASSERT_EQ(fed.found.size(), 2u);
  EXPECT_FALSE(fed.found[1].open);
}

TEST(EwmaTest, LeavesIdleSeriesOut) {
  Fed fed;
  fed.idle = true;
  for (int i = 0; i < 100; ++i) fed.Epoch(1);
  fed.Epoch(100);
  EXPECT_TRUE(fed.found.empty());
}

TEST(EwmaTest, ShortPartialAndHalfWatchedEpochsDoNotCount) {
  Fed fed;
  for (int i = 0; i < 100; ++i) fed.Epoch(1);
  fed.Epoch(100, TELLTALE_EPOCH_SHORT);
  fed.Epoch(100, TELLTALE_EPOCH_PARTIAL);
  fed.Epoch(100, TELLTALE_EPOCH_FULL, 4 * kSecond);
  fed.Epoch(100, TELLTALE_EPOCH_FULL, 0);
  EXPECT_TRUE(fed.found.empty());
}

TEST(EwmaTest, TheRateIsOverTheTimeWatched) {
  Fed fed;
  for (int i = 0; i < 100; ++i) fed.Epoch(1);
  fed.Epoch(1, TELLTALE_EPOCH_FULL, 6 * kSecond);
  EXPECT_TRUE(fed.found.empty());
}

TEST(EwmaTest, AVitalThatWasNotCountedIsNotLow) {
  Fed fed;
  for (int i = 0; i < 100; ++i) fed.Epoch(1);
  fed.vital_watched = 0;
  fed.Epoch(0);
  fed.vital_watched = 4 * kSecond;
  fed.Epoch(0.5);
  EXPECT_TRUE(fed.found.empty());
  fed.vital_watched = 6 * kSecond;  // of 10: the weight is of these 6
  fed.Epoch(0.6);
  EXPECT_TRUE(fed.found.empty());
}

TEST(EwmaTest, GoesOnFromASavedStateAsIfNothingHadHappened) {
  Fed whole, second;
  Noise noise(5);
  std::vector<double> rates;
  for (int i = 0; i < 300; ++i) rates.push_back(i == 250 || i == 251 ? 9 : noise());
  std::string saved;
  for (size_t i = 0; i < rates.size(); ++i) {
    if (i == 150) {
      saved = whole.Save();
      second.now = whole.now;
      ASSERT_TRUE(second.Load(saved));
    }
    whole.Epoch(rates[i]);
    if (i >= 150) second.Epoch(rates[i]);
  }
  EXPECT_EQ(whole.found.size(), 2u);
  EXPECT_EQ(whole.found, second.found);
  EXPECT_EQ(whole.Save(), second.Save());
}

// An operator takes a costly vital out of the agent's configuration while it is high.
TEST(EwmaTest, AnAnomalyOfAVitalThatIsTakenAwayEnds) {
  Fed fed;
  for (int i = 0; i < 100; ++i) fed.Epoch(1);
  for (int i = 0; i < 3; ++i) fed.Epoch(50);
  const uint64_t last_end = fed.now;
  fed.vital_watched = 0;
  for (int i = 0; i < 14; ++i) fed.Epoch(0);
  EXPECT_EQ(fed.found.size(), 1u) << "it may come back";
  Fed restarted;
  restarted.now = fed.now;
  restarted.vital_watched = 0;
  ASSERT_TRUE(restarted.Load(fed.Save()));
  restarted.Epoch(0);
  ASSERT_EQ(restarted.found.size(), 1u);
  EXPECT_FALSE(restarted.found[0].open);
  EXPECT_EQ(restarted.found[0].vital, "blocking");
  EXPECT_EQ(restarted.found[0].sub, "disk");
  EXPECT_EQ(restarted.found[0].start_ns, fed.found[0].start_ns);
  EXPECT_EQ(restarted.found[0].end_ns, last_end);
  restarted.Epoch(0);
  restarted.vital_watched = UINT64_MAX;
  restarted.Epoch(1);
  EXPECT_EQ(restarted.found.size(), 1u) << "it ended once";
}

TEST(EwmaTest, RefusesAStateItDoesNotUnderstand) {
  Fed fed;
  for (int i = 0; i < 50; ++i) fed.Epoch(1);
  std::string bytes = fed.Save();
  EXPECT_FALSE(fed.Load(bytes.substr(1)));
  bytes[0] = 9;  // another layout
  EXPECT_FALSE(Fed().Load(bytes));
  fed.Epoch(50);
  bytes = fed.Save();
  EXPECT_TRUE(Fed().Load(bytes));
  EXPECT_FALSE(Fed().Load(bytes.substr(0, bytes.size() - 1))) << "the name of its unit is cut";
}

}  // namespace
}  // namespace telltale::filter
