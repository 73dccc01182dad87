// The embedded record: of the very version that was measured, and what it says is possible.

#include "collector/filter/record/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "collector/filter/anomaly_log.h"
#include "collector/filter/detect/detectors.h"

namespace telltale::filter {
namespace {

TEST(RecordTest, AFilterOfTheMeasuredVersionHasItsFigures) {
  ASSERT_FALSE(Measured().filters.empty());
  const MeasuredFilter& measured = Measured().filters.front();
  const auto record = RecordOf(measured.name, measured.version);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->hits(), measured.hits);
  EXPECT_EQ(record->misses(), measured.misses);
  EXPECT_EQ(record->false_alarms(), measured.false_alarms);
  EXPECT_EQ(record->measured(), measured.measured);
  EXPECT_EQ(record->faults(), Measured().faults);
  EXPECT_EQ(record->innocent_loads(), Measured().innocent_loads);
}

TEST(RecordTest, AnotherVersionIsAnotherFilter) {
  ASSERT_FALSE(Measured().filters.empty());
  const MeasuredFilter& measured = Measured().filters.front();
  EXPECT_FALSE(RecordOf(measured.name, measured.version + 1).has_value());
  EXPECT_FALSE(RecordOf("nobody", measured.version).has_value());
}

TEST(RecordTest, ADiagnosisComesWithTheRecordOfItsRuleASymptomWithNone) {
  const auto rule = std::ranges::find_if(Measured().filters, [](const MeasuredFilter& measured) {
    return std::string_view(measured.name).starts_with("rule_");
  });
  ASSERT_NE(rule, Measured().filters.end());
  v1::FilterAnomaly found;
  found.set_rule(5);
  EXPECT_EQ(ToAnswer(rule->name, rule->version, "db-1", found).record().hits(), rule->hits);
  EXPECT_FALSE(ToAnswer(rule->name, rule->version + 1, "db-1", found).has_record());
  found.set_rule(0);
  EXPECT_FALSE(ToAnswer(rule->name, rule->version, "db-1", found).has_record());
}

// Who changes a rule measures it anew: tests/scenario/run --only ... --out DIR, then --join DIR.
TEST(RecordTest, EachRuleAsItIsBuiltHasARecord) {
  for (const telltale_filter* filter : BuiltinFilters()) {
    if (filter->rule == 0) continue;
    EXPECT_TRUE(RecordOf(filter->name, filter->version).has_value())
        << filter->name << " version " << filter->version << " was not measured";
  }
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
