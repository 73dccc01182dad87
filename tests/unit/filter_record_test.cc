// The embedded record: of the very version that was measured, and what it says is possible.

#include "collector/filter/record/record.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "collector/filter/anomaly_log.h"
#include "collector/filter/detect/detectors.h"
#include "collector/formats/record_text.h"

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

TEST(RecordTest, OfALaterVersionTheFiguresSayThatTheyAreOfAnEarlierOne) {
  ASSERT_FALSE(Measured().filters.empty());
  const MeasuredFilter& measured = Measured().filters.front();
  EXPECT_EQ(RecordOf(measured.name, measured.version)->earlier_version(), 0u);
  const auto later = RecordOf(measured.name, measured.version + 2);
  ASSERT_TRUE(later.has_value());
  EXPECT_EQ(later->earlier_version(), measured.version);
  EXPECT_TRUE(formats::RecordText(*later).ends_with(
      absl::StrCat("; measured of version ", measured.version, ", not of this one")));
  EXPECT_FALSE(RecordOf(measured.name, measured.version - 1).has_value());
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
  EXPECT_EQ(ToAnswer(rule->name, rule->version + 1, "db-1", found).record().earlier_version(),
            rule->version);
  found.set_rule(0);
  EXPECT_FALSE(ToAnswer(rule->name, rule->version, "db-1", found).has_record());
}

TEST(RecordTest, ItIsToldHowSoonAFaultWasFoundAndWhereNoFalseAlarmSaysNothing) {
  v1::FilterRecord record;
  record.set_hits(10);
  record.set_misses(1);
  record.set_low(0.62);
  record.set_high(0.98);
  EXPECT_EQ(formats::RecordText(record), "10 of 11 found (62 to 98 %), 0 false alarms");
  record.set_epochs(1);
  record.set_most_epochs(1);
  EXPECT_EQ(formats::RecordText(record),
            "10 of 11 found (62 to 98 %) after 1 epoch, 0 false alarms");
  record.set_most_epochs(3);
  record.set_mute(true);
  EXPECT_EQ(formats::RecordText(record),
            "10 of 11 found (62 to 98 %) after 1 epoch (at most 3), no innocent load to be wrong "
            "about");
  record.set_mute(false);
  record.set_without_counters(true);
  EXPECT_THAT(formats::RecordText(record),
              ::testing::EndsWith("0 false alarms; measured without hardware counters"));
}

// Who changes a rule measures it anew: tests/scenario/run --only ... --out DIR, then --join DIR.
// Until then the figures are those of an earlier version, which the page and all answers say.
TEST(RecordTest, EachRuleWasMeasuredOnAFault) {
  for (const telltale_filter* filter : BuiltinFilters()) {
    if (filter->rule == 0) continue;
    const auto record = RecordOf(filter->name, filter->version);
    ASSERT_TRUE(record.has_value()) << filter->name << " was never measured";
    EXPECT_GT(record->hits() + record->misses(), 0u) << filter->name;
  }
}

// After a change of a version: tests/scenario/run --versions.
TEST(RecordTest, ThePageKnowsTheVersionsAsTheyAreBuilt) {
  for (const MeasuredFilter& measured : Measured().filters) {
    for (const telltale_filter* filter : BuiltinFilters()) {
      if (std::string_view(filter->name) != measured.name) continue;
      EXPECT_EQ(measured.built, filter->version) << filter->name;
    }
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
