// The filter that is shipped as an example, on synthetic epochs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/filter_watch.h"

extern "C" const telltale_filter* telltale_filter_entry(void);

namespace telltale::filter {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMinute = 60 * Watch::kSecond;

// Of 4 CPUs so many are taken, epoch by epoch.
void Show(Watch& watch, const std::vector<double>& taken) {
  for (const double cpus : taken) {
    watch.Rate("cpu", "user", cpus);
    watch.Show();
  }
}

TEST(ExampleTest, WhatItSaidGoesOnItSaysIsOver) {
  Watch watch(telltale_filter_entry());
  const uint64_t begin = watch.now;
  Show(watch, {1, 3.9, 3.9, 3.9, 3.7});
  ASSERT_EQ(watch.told.size(), 2u);
  EXPECT_TRUE(watch.told.back().open);
  Show(watch, {1, 1, 1});
  ASSERT_EQ(watch.told.size(), 3u) << "once";
  const Watch::Told& over = watch.told.back();
  EXPECT_FALSE(over.open);
  EXPECT_EQ(over.start_ns, begin + kMinute);
  EXPECT_EQ(over.end_ns, begin + 5 * kMinute);
  EXPECT_NEAR(over.value, 3.7, 1e-6);
  EXPECT_EQ(over.text, "cpu: 3.7 of 4 CPUs taken, for 4 epochs");
  for (const Watch::Told& told : watch.told) EXPECT_EQ(told.start_ns, over.start_ns);
}

TEST(ExampleTest, WhatLastsForTwoEpochsIsNotTold) {
  Watch watch(telltale_filter_entry());
  Show(watch, {3.9, 3.9, 1, 3.9, 3.9, 1});
  EXPECT_TRUE(watch.told.empty());
}

TEST(ExampleTest, HowManyCpusAreCrowdedIsAnOption) {
  Watch watch(telltale_filter_entry(), {{"learn", 30}, {"taken", 0.5}});
  Show(watch, {2.1, 2.1, 2.1});
  ASSERT_EQ(watch.told.size(), 1u);
  EXPECT_NEAR(watch.told[0].expected, 2, 1e-6);
  EXPECT_THAT(watch.told[0].evidence, HasSubstr("50 % in 3 in a row"));
}

}  // namespace
}  // namespace telltale::filter
