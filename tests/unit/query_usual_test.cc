// What is called unusual is far from a robust middle and rare in the past; and the while is told
// whole.

#include <gtest/gtest.h>

#include <vector>

#include "collector/query/past_times.h"
#include "collector/query/usual.h"

namespace telltale::query {
namespace {

std::vector<Moment> Minutes(const std::vector<double>& rates) {
  std::vector<Moment> moments;
  for (size_t i = 0; i < rates.size(); ++i) {
    moments.push_back({static_cast<double>(i) * 60, 60, rates[i]});
  }
  return moments;
}

TEST(UsualTest, HalfOfThePastMayBeFarOff) {
  const auto usual = UsualOf({10, 11, 9, 10, 12, 1000, 1000, 1000, 8, 10}, 0.1);
  ASSERT_TRUE(usual.has_value());
  EXPECT_DOUBLE_EQ(usual->median, 10.5);
  EXPECT_DOUBLE_EQ(usual->deviation, 1.4826 * 1.5);  // distances .5 .5 .5 .5 1.5 1.5 2.5 and far
}

TEST(UsualTest, ADeviationIsNeverLessThanTheFloors) {
  EXPECT_DOUBLE_EQ(UsualOf(std::vector<double>(20, 7.0), 0.1)->deviation, 0.7);
  EXPECT_DOUBLE_EQ(UsualOf(std::vector<double>(20, 0.0), 0.1)->deviation, 0.1);
}

TEST(UsualTest, SaysNothingOfALittlePast) {
  EXPECT_FALSE(UsualOf(std::vector<double>(kLeastPast - 1, 1.0), 0.1).has_value());
  EXPECT_TRUE(UsualOf(std::vector<double>(kLeastPast, 1.0), 0.1).has_value());
}

TEST(UsualTest, TheWhileReachesOverOneUsualMomentAndNoFurther) {
  const Usual usual = *UsualOf(std::vector<double>(100, 1.0), 0.1);  // deviation 0.1
  const auto found = FarthestWhile(Minutes({1, 1, 3, 1, 5, 4, 1, 1, 4, 0.2}), usual);
  ASSERT_TRUE(found.has_value());
  EXPECT_DOUBLE_EQ(found->start_s, 120);
  EXPECT_DOUBLE_EQ(found->end_s, 360);
  EXPECT_DOUBLE_EQ(found->peak, 5);
  EXPECT_DOUBLE_EQ(found->rate, (3 + 1 + 5 + 4) / 4.0);
  EXPECT_NEAR(found->severity, 40, 1e-9);
  EXPECT_EQ(found->as_far, 0u);
}

TEST(UsualTest, LessThanUsualIsUnusualToo) {
  const auto found =
      FarthestWhile(Minutes({1, 0, 1}), *UsualOf(std::vector<double>(100, 1.0), 0.1));
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->severity, -10, 1e-9);
}

TEST(UsualTest, WhatIsBelowFiveDeviationsIsUsual) {
  const Usual usual = *UsualOf(std::vector<double>(100, 1.0), 0.1);
  EXPECT_FALSE(FarthestWhile(Minutes({1.49, 0.51}), usual).has_value());
  EXPECT_TRUE(FarthestWhile(Minutes({1.51}), usual).has_value());
  EXPECT_FALSE(FarthestWhile({}, usual).has_value());
}

// A backup each hour: far from the median and yet nothing new.
TEST(UsualTest, WhatThePastDidAsOftenIsUsual) {
  for (const size_t jumps : {1, 3}) {
    std::vector<double> past(200, 1.0);
    for (size_t i = 0; i < jumps; ++i) past[i * 60] = 9;
    const auto found = FarthestWhile(Minutes({1, 9, 1}), *UsualOf(past, 0.1));
    EXPECT_EQ(found.has_value(), jumps == 1) << jumps;
    EXPECT_EQ(found.has_value() ? found->as_far : 1, 1u);
  }
}

TEST(PastTimesTest, AnHourBeforeAndTheSameTimeOfDays) {
  constexpr double kDay = 86400, kAt = 100 * kDay;
  const TimeSpan asked{kAt, kAt + 600};
  EXPECT_DOUBLE_EQ(TimeBefore(asked).start_s, kAt - 3600);
  EXPECT_DOUBLE_EQ(TimeBefore(asked).end_s, kAt);
  EXPECT_DOUBLE_EQ(TimeAfter(asked, kAt + 1200).end_s, kAt + 1200);
  EXPECT_DOUBLE_EQ(TimeAfter(asked, kAt + 300).end_s, TimeAfter(asked, kAt + 300).start_s);
  const std::vector<TimeSpan> days = SameTimeOfDays(asked, 0);
  ASSERT_EQ(days.size(), 7u);
  EXPECT_DOUBLE_EQ(days[0].start_s, kAt + 300 - 1800 - kDay);
  EXPECT_DOUBLE_EQ(days[6].end_s, kAt + 300 + 1800 - 7 * kDay);
  EXPECT_EQ(SameTimeOfDays(asked, kAt - 2 * kDay).size(), 2u);
  EXPECT_DOUBLE_EQ(TimeBefore({kAt, kAt + 7200}).start_s, kAt - 7200);
}

}  // namespace
}  // namespace telltale::query
