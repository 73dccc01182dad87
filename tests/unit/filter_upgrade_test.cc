// A filter of a new version takes the place of one that ran before.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "telltale/v1/filter.pb.h"
#include "tests/unit/filter_world.h"

extern "C" const telltale_filter* silence_filter(void);

namespace telltale::filter {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kPerHour = 3600 * kSecond / kEpoch;

class FilterUpgradeTest : public ::testing::Test, protected World {
 protected:
  // From now on the filter is of that version and finds something in these epochs.
  void Install(uint32_t version, std::set<uint64_t> finds_in) {
    finds_in_ = std::move(finds_in);
    finder_ = *silence_filter();
    finder_.name = "finder";
    finder_.version = version;
    finder_.epoch = [](void* instance, const telltale_filter_epoch* shown) {
      shown_ = true;
      const uint64_t epoch = (shown->start_ns - kBegin) / kEpoch;
      const bool goes_on = epoch >= goes_on_since_;
      if (!finds_in_.contains(epoch) && !goes_on) return 0;
      const auto* host = static_cast<const telltale_filter_host*>(instance);
      telltale_filter_anomaly anomaly = {};
      anomaly.struct_size = sizeof anomaly;
      anomaly.vital = "cpu";
      anomaly.sub = "";
      anomaly.start_ns = goes_on ? kBegin + goes_on_since_ * kEpoch : shown->start_ns;
      anomaly.open = goes_on;
      anomaly.end_ns = shown->end_ns;
      host->anomaly(host->context, &anomaly);
      return 0;
    };
    filters_ = {&finder_};
    Restart();
  }

  // "vVERSION NODE EPOCH" of each.
  static std::vector<std::string> Texts(const std::vector<v1::Anomaly>& anomalies) {
    std::vector<std::string> texts;
    for (const v1::Anomaly& one : anomalies) {
      const auto since_s = static_cast<uint64_t>(one.start_s()) - kBegin / kSecond;
      texts.push_back(absl::StrCat("v", one.filter_version(), " ", one.node(), " ",
                                   since_s * kSecond / kEpoch));
    }
    return texts;
  }
  std::vector<std::string> Logged() { return Texts(*log_->After("0", 1000)); }

  static inline telltale_filter finder_;
  static inline std::set<uint64_t> finds_in_;
  static inline uint64_t goes_on_since_ = ~uint64_t{0};  // an epoch: what it finds from then on
  static inline bool shown_ = false;
};

TEST_F(FilterUpgradeTest, WhatTheFormerVersionWasShownIsNoNewsWhenTheNewOneFindsIt) {
  constexpr uint64_t kLastHour = 29 * kPerHour;
  Install(1, {5'000, kLastHour + 10});
  for (uint64_t i = 0; i < kLastHour + 300; ++i) Arrive(i, 1);
  Look();
  const std::string last = absl::StrCat(kLastHour + 10), later = absl::StrCat(kLastHour + 290);
  ASSERT_THAT(Logged(), ElementsAre("v1 n1 5000", "v1 n1 " + last));

  // The former version told of nothing behind its last anomaly: what is found there is news.
  Install(2, {6'000, kLastHour + 10, kLastHour + 290});
  Look();
  EXPECT_THAT(Logged(), ElementsAre("v1 n1 5000", "v1 n1 " + last, "v2 n1 " + later));
  EXPECT_THAT(Texts(List()), ElementsAre("v2 n1 " + later, "v2 n1 " + last, "v2 n1 6000"));

  // Nor is it after a restart in the hour that both were shown.
  Install(2, {kLastHour + 5, kLastHour + 290});
  Look();
  EXPECT_EQ(Texts(List()).size(), 4u);
  EXPECT_EQ(Logged().size(), 3u);

  // Of a node that the former version never saw all is.
  finds_in_ = {7'000, kLastHour + 310};
  for (uint64_t i = 6'900; i < 7'100; ++i) Arrive(i, 1, 2);
  for (uint64_t i = kLastHour + 300; i < kLastHour + 320; ++i) Arrive(i, 1);
  Look();
  EXPECT_THAT(Logged(),
              UnorderedElementsAre("v1 n1 5000", "v1 n1 " + last, "v2 n1 " + later, "v2 n2 7000",
                                   absl::StrCat("v2 n1 ", kLastHour + 310)));
}

// It was made to find that.
TEST_F(FilterUpgradeTest, WhatTheFormerVersionDidNotFindIsNewsWhenItGoesOn) {
  constexpr uint64_t kLastHour = 29 * kPerHour;
  Install(1, {kLastHour + 10});
  for (uint64_t i = 0; i < kLastHour + 12; ++i) Arrive(i, 1);
  Look();
  const std::string told = absl::StrCat("v1 n1 ", kLastHour + 10);
  ASSERT_THAT(Logged(), ElementsAre(told));

  goes_on_since_ = kLastHour + 2;
  Install(2, {});
  for (uint64_t i = kLastHour + 12; i < kLastHour + 20; ++i) Arrive(i, 1);
  Look();
  goes_on_since_ = ~uint64_t{0};
  EXPECT_THAT(Logged(), ElementsAre(told, absl::StrCat("v2 n1 ", kLastHour + 2))) << "once";
}

// One that runs in the filter host tells that it learns with the first epoch it was shown.
TEST_F(FilterUpgradeTest, AnHourInWhichAFilterIsFirstHeardOfSaysThatItLearns) {
  shown_ = false;
  Install(1, {});
  finder_.learning = [](const void*, telltale_filter_learning* learning) {
    learning->learned_epochs = 0;
    learning->needed_epochs = shown_ ? 10 : 0;
  };
  Restart();
  Arrive(0, 1);
  Look();
  v1::FilterHour hour;
  ASSERT_TRUE(hour.ParseFromString(*store_.Get({*store_.FilterNumber("finder", 1), 1, kBegin})));
  EXPECT_TRUE(hour.learning());
}

// Lists take what another version found in the hours in which this one could not speak.
TEST_F(FilterUpgradeTest, AnHourThatBeginsWhileAFilterLearnsSaysSo) {
  for (uint64_t i = 0; i < 2 * kPerHour; ++i) Arrive(i, Quiet(i));
  Look();
  const uint32_t number = *store_.FilterNumber("ewma", telltale_ewma_filter()->version);
  v1::FilterHour first, second;
  ASSERT_TRUE(first.ParseFromString(*store_.Get({number, 1, kBegin})));
  ASSERT_TRUE(second.ParseFromString(*store_.Get({number, 1, kBegin + kPerHour * kEpoch})));
  EXPECT_TRUE(first.learning());
  EXPECT_FALSE(second.learning());
}

}  // namespace
}  // namespace telltale::filter
