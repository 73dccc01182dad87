// The embedded record: of the very version that was measured, and what it says is possible.

#include "collector/filter/record/record.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "collector/filter/detect/detectors.h"

namespace telltale::filter {
namespace {

TEST(RecordTest, AFilterOfTheMeasuredVersionHasItsFigures) {
  ASSERT_FALSE(Measured().filters.empty());
  const MeasuredFilter& measured = Measured().filters.front();
  telltale_filter filter = {};
  filter.name = measured.name;
  filter.version = measured.version;
  const auto record = RecordOf(filter);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->hits(), measured.hits);
  EXPECT_EQ(record->misses(), measured.misses);
  EXPECT_EQ(record->false_alarms(), measured.false_alarms);
  EXPECT_EQ(record->measured(), Measured().day);
  EXPECT_EQ(record->faults(), Measured().faults);
  EXPECT_EQ(record->innocent_loads(), Measured().innocent_loads);
}

TEST(RecordTest, AnotherVersionIsAnotherFilter) {
  ASSERT_FALSE(Measured().filters.empty());
  telltale_filter filter = {};
  filter.name = Measured().filters.front().name;
  filter.version = Measured().filters.front().version + 1;
  EXPECT_FALSE(RecordOf(filter).has_value());
  filter.name = "nobody";
  EXPECT_FALSE(RecordOf(filter).has_value());
}

TEST(RecordTest, EachShareLiesInItsInterval) {
  for (const MeasuredFilter& filter : Measured().filters) {
    EXPECT_GE(filter.low, 0) << filter.name;
    EXPECT_LE(filter.high, 1) << filter.name;
    const uint32_t planted = filter.hits + filter.misses;
    if (planted == 0) continue;
    const double share = static_cast<double>(filter.hits) / planted;
    EXPECT_LE(filter.low, share + 1e-4) << filter.name;
    EXPECT_GE(filter.high, share - 1e-4) << filter.name;
  }
}

}  // namespace
}  // namespace telltale::filter
