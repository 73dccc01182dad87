// Which seconds are told while somebody looks.

#include <gtest/gtest.h>

#include <utility>

#include "agent/loop/live_seconds.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr int64_t kWall = 1'795'000'000 * static_cast<int64_t>(kSecond);

// From 100 s on; the weight of its second i is 10 + i.
RawEpoch EpochOf(uint64_t length_ns) {
  RawEpoch epoch;
  epoch.start_mono_ns = 100 * kSecond;
  epoch.end_mono_ns = epoch.start_mono_ns + length_ns;
  for (const uint8_t id : {1, 2}) {
    RawVital& vital = epoch.vitals.emplace_back();
    vital.id = id;
    RawSub& sub = vital.subs.emplace_back();
    for (uint64_t s = 0; s * kSecond < length_ns; ++s) sub.second_weight.push_back(10 + s);
  }
  return epoch;
}

TEST(LiveSecondsTest, TheNewestWholeSecondIsToldOnce) {
  LiveSeconds live;
  EXPECT_FALSE(live.Due(103 * kSecond)) << "nobody looks";
  live.WatchUntil(200 * kSecond);
  EXPECT_TRUE(live.Due(103 * kSecond));
  live.Add(EpochOf(3 * kSecond + kSecond / 2), {}, kWall);
  const auto told = live.Take();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->unix_ns(), static_cast<uint64_t>(kWall) + 103 * kSecond);
  ASSERT_EQ(told->vitals_size(), 2);
  EXPECT_EQ(told->vitals(0).sub_weight(0), 12u);
  EXPECT_FALSE(live.Take().has_value());
  EXPECT_FALSE(live.Due(103 * kSecond + kSecond / 2));
  EXPECT_TRUE(live.Due(104 * kSecond));
}

TEST(LiveSecondsTest, TheLastSecondOfAnEpochComesWithItsEnd) {
  LiveSeconds live;
  live.WatchUntil(200 * kSecond);
  live.Add(EpochOf(4 * kSecond + kSecond / 2), {}, kWall);
  live.Take();
  live.Add(EpochOf(5 * kSecond - 1), {}, kWall);  // cut, a little early
  const auto told = live.Take();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->vitals(1).sub_weight(0), 14u);
  RawEpoch next = EpochOf(kSecond / 2);
  next.start_mono_ns += 5 * kSecond;
  next.end_mono_ns += 5 * kSecond;
  live.Add(next, {}, kWall);
  EXPECT_FALSE(live.Take().has_value()) << "its first second is not over";
}

TEST(LiveSecondsTest, WhatCannotBeWatchedIsLeftOut) {
  LiveSeconds live;
  live.WatchUntil(200 * kSecond);
  live.Add(EpochOf(kSecond), {{1, VitalState::kUnavailable, "", "no counters"}}, kWall);
  const auto told = live.Take();
  ASSERT_TRUE(told.has_value());
  ASSERT_EQ(told->vitals_size(), 1);
  EXPECT_EQ(told->vitals(0).id(), 2u);
}

TEST(LiveSecondsTest, WhatIsLookedAtNowAndThenIsNotZeroBetween) {
  LiveSeconds live;
  live.WatchUntil(200 * kSecond);
  RawEpoch epoch = EpochOf(2 * kSecond);
  epoch.vitals[0].subs[0].second_weight[1] = 0;
  live.Add(epoch, {{1, VitalState::kDegraded, "", "switches are only counted"}}, kWall);
  auto told = live.Take();
  ASSERT_TRUE(told.has_value());
  ASSERT_EQ(told->vitals_size(), 1);
  EXPECT_EQ(told->vitals(0).id(), 2u);
  // Looked at again, and where it is watched all the time 0 is 0.
  live.Add(EpochOf(3 * kSecond), {{1, VitalState::kDegraded, "", "switches are only counted"}},
           kWall);
  told = live.Take();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->vitals_size(), 2);
  epoch = EpochOf(4 * kSecond);
  epoch.vitals[0].subs[0].second_weight[3] = 0;
  live.Add(epoch, {}, kWall);
  told = live.Take();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->vitals_size(), 2);
}

TEST(LiveSecondsTest, ASecondInWhichNothingWasCountedIsNotTold) {
  LiveSeconds live;
  live.WatchUntil(200 * kSecond);
  RawEpoch epoch = EpochOf(2 * kSecond);
  for (RawVital& vital : epoch.vitals) vital.subs[0].second_weight[1] = 0;
  live.Add(epoch, {}, kWall);
  EXPECT_FALSE(live.Take().has_value());
  EXPECT_FALSE(live.Due(102 * kSecond + kSecond / 2)) << "nor asked for again";
}

}  // namespace
}  // namespace telltale::agent
