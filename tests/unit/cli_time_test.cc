// Times and ranges as people type and say them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

using ::testing::HasSubstr;

const absl::TimeZone kZone = absl::FixedTimeZone(3600);  // UTC+1
const absl::Time kNow = absl::FromCivil(absl::CivilSecond(2026, 11, 20, 12, 0, 0), kZone);

std::string Local(const std::string& text) {
  const absl::StatusOr<absl::Time> moment = ParseMoment(text, kNow, kZone);
  return moment.ok() ? absl::FormatTime("%Y-%m-%d %H:%M:%E*S", *moment, kZone)
                     : std::string(moment.status().message());
}

TEST(TimeTest, UnderstandsWhatPeopleType) {
  EXPECT_EQ(Local("now"), "2026-11-20 12:00:00");
  EXPECT_EQ(Local("-2h"), "2026-11-20 10:00:00");
  EXPECT_EQ(Local("-1h30m"), "2026-11-20 10:30:00");
  EXPECT_EQ(Local("-1d"), "2026-11-19 12:00:00");
  EXPECT_EQ(Local("2026-11-18 17:00"), "2026-11-18 17:00:00");
  EXPECT_EQ(Local("2026-11-18T17:00:00Z"), "2026-11-18 18:00:00");
  EXPECT_EQ(Local("2026-11-18T17:00:00.250+00:00"), "2026-11-18 18:00:00.25");
  EXPECT_EQ(Local("09:30"), "2026-11-20 09:30:00");
  EXPECT_EQ(Local("23:30"), "2026-11-19 23:30:00");  // has not come yet today
  EXPECT_EQ(Local("@1763485200"), "2025-11-18 18:00:00");
}

// kNow is a Friday, noon.
TEST(TimeTest, UnderstandsWhatPeopleSay) {
  EXPECT_EQ(Local("yesterday 17:00"), "2026-11-19 17:00:00");
  EXPECT_EQ(Local("yesterday at 5pm"), "2026-11-19 17:00:00");
  EXPECT_EQ(Local("yesterday"), "2026-11-19 00:00:00");
  EXPECT_EQ(Local("today 9:30am"), "2026-11-20 09:30:00");
  EXPECT_EQ(Local("last wednesday 5pm"), "2026-11-18 17:00:00");
  EXPECT_EQ(Local("Last Wednesday, around 17:05"), "2026-11-18 17:05:00");
  EXPECT_EQ(Local("wed 5:30 pm"), "2026-11-18 17:30:00");
  EXPECT_EQ(Local("friday 9:00"), "2026-11-20 09:00:00");       // it is today
  EXPECT_EQ(Local("friday 17:00"), "2026-11-13 17:00:00");      // not yet today
  EXPECT_EQ(Local("last friday 9:00"), "2026-11-13 09:00:00");  // not today
  EXPECT_EQ(Local("5pm"), "2026-11-19 17:00:00");               // not yet today
  EXPECT_EQ(Local("12am"), "2026-11-20 00:00:00");
  EXPECT_EQ(Local("12:15pm"), "2026-11-19 12:15:00");
  EXPECT_EQ(Local("noon"), "2026-11-20 12:00:00");
  EXPECT_EQ(Local("18 nov 5pm"), "2026-11-18 17:00:00");
  EXPECT_EQ(Local("nov 18 17:00"), "2026-11-18 17:00:00");
  EXPECT_EQ(Local("december 1 17:00"), "2025-12-01 17:00:00");
  EXPECT_EQ(Local("2026-11-18 5pm"), "2026-11-18 17:00:00");
  EXPECT_EQ(Local("2 hours ago"), "2026-11-20 10:00:00");
  EXPECT_EQ(Local("an hour ago"), "2026-11-20 11:00:00");
  EXPECT_EQ(Local("10 min ago"), "2026-11-20 11:50:00");
  EXPECT_EQ(Local("1h ago"), "2026-11-20 11:00:00");
  EXPECT_EQ(Local("90min ago"), "2026-11-20 10:30:00");
  EXPECT_EQ(Local("tomorrow"), "2026-11-21 00:00:00");
  EXPECT_EQ(Local("yesterday 17:00 UTC"), "2026-11-19 18:00:00");
}

// What ends, ends ahead.
TEST(TimeTest, AnEndIsTheNextOneOfItsName) {
  const auto ahead = [](const std::string& text) {
    const absl::StatusOr<absl::Time> moment = ParseMoment(text, kNow, kZone, Meant::kAhead);
    return moment.ok() ? absl::FormatTime("%Y-%m-%d %H:%M", *moment, kZone)
                       : std::string(moment.status().message());
  };
  EXPECT_EQ(ahead("18:00"), "2026-11-20 18:00");
  EXPECT_EQ(ahead("09:00"), "2026-11-21 09:00");
  EXPECT_EQ(ahead("6pm"), "2026-11-20 18:00");
  EXPECT_EQ(ahead("9am"), "2026-11-21 09:00");
  EXPECT_EQ(ahead("tomorrow 6:00"), "2026-11-21 06:00");
  EXPECT_EQ(ahead("friday 9:00"), "2026-11-27 09:00");
  EXPECT_EQ(ahead("friday 17:00"), "2026-11-20 17:00");
  EXPECT_EQ(ahead("monday"), "2026-11-23 00:00");
  EXPECT_EQ(ahead("1 dec 9:00"), "2026-12-01 09:00");
  EXPECT_EQ(ahead("2 jan"), "2027-01-02 00:00");
  EXPECT_EQ(ahead("+2h"), "2026-11-20 14:00");
  EXPECT_EQ(ahead("2026-11-25 18:00"), "2026-11-25 18:00");
  EXPECT_THAT(ahead("x"), HasSubstr("tomorrow 6:00"));
}

TEST(TimeTest, AZoneIsCalledByItsNameAndItsOffset) {
  EXPECT_EQ(ZoneText(kNow, kZone), "UTC+1");
  EXPECT_EQ(ZoneText(kNow, absl::UTCTimeZone()), "UTC");
  EXPECT_EQ(ZoneText(kNow, absl::FixedTimeZone(-(3 * 3600 + 1800))), "UTC-3:30");
}

TEST(TimeTest, AroundIsSoMuchOnBothSides) {
  const absl::StatusOr<Range> range =
      ResolveRange({"", "", "09:00", "", "15m"}, kNow, kZone, absl::Minutes(5));
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(absl::FormatTime("%H:%M", range->start, kZone), "08:45");
  EXPECT_EQ(absl::FormatTime("%H:%M", range->end, kZone), "09:15");
  for (const RangeFlags& flags :
       {RangeFlags{"", "", "", "", "15m"}, RangeFlags{"", "", "09:00", "5m", "15m"},
        RangeFlags{"", "", "09:00", "", "x"}}) {
    EXPECT_FALSE(ResolveRange(flags, kNow, kZone, absl::Minutes(5)).ok());
  }
}

TEST(TimeTest, RefusesTheRestWithTheForms) {
  for (const char* text : {"",
                           "3xm",
                           "13pm",
                           "0pm",
                           "17",
                           "31 june",
                           "last 17:00",
                           "at",
                           "last",
                           "wednesday thursday",
                           "17:00 18:00",
                           "25:00",
                           "17:60",
                           "5 pm pm",
                           "0 hours ago",
                           "h ago",
                           "1 ago",
                           "1h 2h ago",
                           "UTC",
                           "-",
                           "-2x",
                           "2026-13-01",
                           "@",
                           "-0s",
                           "--2h",
                           "-1e9h",
                           "-99999999999w"}) {
    EXPECT_FALSE(ParseMoment(text, kNow, kZone).ok()) << text;
  }
  EXPECT_THAT(Local("3xm"), HasSubstr("write now, -2h, 17:00"));
}

TEST(TimeTest, FourFlagsMakeOneRange) {
  const auto range = [](const std::string& from, const std::string& to, const std::string& at,
                        const std::string& length) {
    const absl::StatusOr<Range> got =
        ResolveRange({from, to, at, length}, kNow, kZone, absl::Minutes(5));
    if (!got.ok()) return std::string("error");
    return absl::FormatTime("%H:%M", got->start, kZone) + "-" +
           absl::FormatTime("%H:%M", got->end, kZone);
  };
  EXPECT_EQ(range("", "", "", ""), "11:55-12:00");
  EXPECT_EQ(range("-2h", "", "", ""), "10:00-12:00");
  EXPECT_EQ(range("-2h", "-1h", "", ""), "10:00-11:00");
  EXPECT_EQ(range("09:00", "", "", "10m"), "09:00-09:10");
  EXPECT_EQ(range("", "09:00", "", "10m"), "08:50-09:00");
  EXPECT_EQ(range("", "", "09:00", ""), "09:00-09:01");
  EXPECT_EQ(range("", "", "", "1h"), "11:00-12:00");
  EXPECT_EQ(range("-1h", "-2h", "", ""), "error");
  EXPECT_EQ(range("-2h", "-1h", "", "5m"), "error");
  EXPECT_EQ(range("-2h", "", "09:00", ""), "error");
}

}  // namespace
}  // namespace telltale::cli
