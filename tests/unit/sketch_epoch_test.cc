#include "sketch/epoch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <utility>

#include "sketch/round7.h"
#include "sketch/time_units.h"

namespace telltale::sketch {
namespace {

constexpr uint64_t kNow = 1'790'000'012ull * kNsPerS + 345;

TEST(EpochTest, EveryAllowedLengthNestsInEveryWindow) {
  for (const uint32_t length : kEpochLengths) {
    EXPECT_TRUE(AllowedEpochLength(length));
    EXPECT_TRUE(DividesMinute(length));
    for (const uint32_t window : kWindowSeconds) EXPECT_EQ(window % length, 0u);
  }
  EXPECT_FALSE(AllowedEpochLength(0));
  EXPECT_FALSE(AllowedEpochLength(7));
  EXPECT_FALSE(AllowedEpochLength(1));
  EXPECT_FALSE(DividesMinute(0));
  EXPECT_FALSE(DividesMinute(120));
  EXPECT_TRUE(DividesMinute(1));
}

TEST(EpochTest, IntervalsTileTime) {
  for (const uint32_t length : kEpochLengths) {
    const uint64_t start = IntervalStart(kNow, length), end = IntervalEnd(kNow, length);
    EXPECT_LE(start, kNow);
    EXPECT_GT(end, kNow);
    EXPECT_EQ(end - start, length * kNsPerS);
    EXPECT_EQ(IntervalNumber(end - 1, length), IntervalNumber(start, length));
    EXPECT_EQ(IntervalNumber(end, length), IntervalNumber(start, length) + 1);
    EXPECT_EQ(IntervalStart(end, length), end);
  }
}

TEST(EpochTest, CutsAreOnBoundariesAndNeverLeaveHalfAnEpoch) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t now = kNow + random() % (3600 * kNsPerS);
    for (const uint32_t length : kEpochLengths) {
      const uint64_t cut = NextCut(now, length);
      ASSERT_EQ(cut % (length * kNsPerS), 0u);
      ASSERT_GE(cut - now, length * kNsPerS / 2);
      ASSERT_LT(cut - now, length * kNsPerS * 3 / 2);
    }
  }
  EXPECT_EQ(NextCut(120 * kNsPerS, 60), 180 * kNsPerS)
      << "a cut in time is followed by a whole epoch";
}

TEST(EpochTest, TheFirstCutComesWithinTenSeconds) {
  for (uint64_t offset = 0; offset < 60; ++offset) {
    for (const uint32_t length : kEpochLengths) {
      const uint64_t start = (1'790'000'000ull / 60 * 60 + offset) * kNsPerS + 7;
      const uint64_t cut = FirstCut(start, length);
      EXPECT_GE(cut - start, kNsPerS);
      EXPECT_LE(cut - start, 10 * kNsPerS);
      EXPECT_TRUE(cut - start == 10 * kNsPerS || cut % (length * kNsPerS) == 0);
    }
  }
}

TEST(EpochTest, AnEpochTouchesTheWindowsItOverlapsAndNoOther) {
  const uint64_t s = kNsPerS;
  const auto touched = [](uint64_t start, uint64_t end) {
    const IntervalRange range = IntervalsTouched(start, end, 300);
    return std::pair(range.first, range.end);
  };
  EXPECT_EQ(touched(0, 300 * s), std::pair(0ul, 1ul)) << "end is exclusive";
  EXPECT_EQ(touched(0, 300 * s + 1), std::pair(0ul, 2ul));
  EXPECT_EQ(touched(299 * s, 301 * s), std::pair(0ul, 2ul));
  EXPECT_EQ(touched(600 * s, 600 * s), std::pair(2ul, 2ul));
  EXPECT_EQ(Overlap(299 * s, 301 * s, 300 * s, 600 * s), s);
  EXPECT_EQ(Overlap(0, s, s, 2 * s), 0u);
}

TEST(Round7Test, KeepsSevenBitsAndIsOffByAtMostOnePartIn128) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t value = random() >> random() % 64;
    if (value >= ~uint64_t{0} - (uint64_t{1} << 56)) continue;
    const uint64_t rounded = Round7(value);
    ASSERT_EQ(rounded & ((uint64_t{1} << std::max<int>(0, std::bit_width(rounded) - 7)) - 1), 0u);
    const uint64_t off = rounded > value ? rounded - value : value - rounded;
    ASSERT_LE(off, value / 128) << value;
    ASSERT_EQ(Round7(rounded), rounded);
  }
  for (uint64_t value = 0; value < 128; ++value) EXPECT_EQ(Round7(value), value);
  EXPECT_EQ(Round7(129), 130u) << "the larger of two equally near";
  EXPECT_EQ(Round7(255), 256u);
  EXPECT_EQ(Round7(~uint64_t{0}), uint64_t{127} << 57) << "no wrap at the top";
}

}  // namespace
}  // namespace telltale::sketch
