// What the agent makes of time: its two clocks read together, the collector's clock, hybrid logical
// clocks, and when epochs are cut.
#include <gtest/gtest.h>

#include "agent/loop/cut_schedule.h"
#include "agent/loop/journal_pace.h"
#include "agent/uplink/clock.h"
#include "agent/uplink/clock_offset.h"
#include "agent/uplink/hlc.h"
#include "tests/unit/agentrt_support.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// A clock whose reader loses its CPU before each of the first readings of the wall clock.
class PausingClock : public Clock {
 public:
  explicit PausingClock(int pauses) : pauses_(pauses) {}
  uint64_t WallNs() const override {
    if (pauses_-- > 0) mono_ += 300'000'000;
    return kTestStartNs + mono_;
  }
  uint64_t MonoNs() const override { return mono_; }

 private:
  mutable int pauses_;
  mutable uint64_t mono_ = 5'000 * kSecond;
};

TEST(ClockTest, ReadsBothClocksAgainWhenTimePassedBetween) {
  const PausingClock clock(3);
  const ClockPair now = ReadTogether(clock);
  EXPECT_EQ(now.wall_ns - now.mono_ns, kTestStartNs);
}

TEST(ClockTest, TakesTheReadingThereIsWhenTimeAlwaysPassesBetween) {
  const PausingClock clock(1'000);
  const ClockPair now = ReadTogether(clock);
  EXPECT_EQ(now.wall_ns - now.mono_ns, kTestStartNs + 300'000'000);
}

TEST(ClockOffsetTest, BelievesTheExchangeWithTheShortestRoundTrip) {
  ClockOffset offset;
  const auto exchange = [&](uint64_t at, uint64_t up_ms, uint64_t down_ms) {
    v1::ProbeReply reply;
    const uint64_t true_offset = 250'000'000;
    reply.set_sent_unix_ns(at);
    reply.set_received_unix_ns(at + up_ms * 1'000'000 + true_offset);
    reply.set_replied_unix_ns(reply.received_unix_ns());
    return offset.Add(reply, at + (up_ms + down_ms) * 1'000'000, (up_ms + down_ms) * 1'000'000);
  };
  EXPECT_FALSE(offset.known());
  EXPECT_TRUE(exchange(kTestStartNs, 90, 10));
  EXPECT_TRUE(exchange(kTestStartNs + kSecond, 2, 2));
  EXPECT_TRUE(exchange(kTestStartNs + 2 * kSecond, 10, 90));
  EXPECT_EQ(offset.offset_ns(), 250'000'000);
  EXPECT_EQ(offset.error_ns(), 2'000'000u);
}

TEST(ClockOffsetTest, ForgetsEverythingWhenTheNodesClockIsStepped) {
  ClockOffset offset;
  v1::ProbeReply reply;
  reply.set_sent_unix_ns(kTestStartNs);
  reply.set_received_unix_ns(kTestStartNs);
  reply.set_replied_unix_ns(kTestStartNs);
  ASSERT_TRUE(offset.Add(reply, kTestStartNs + 1'000'000, 1'000'000));
  EXPECT_FALSE(offset.Add(reply, kTestStartNs + 3'600 * kSecond, 1'000'000));
  EXPECT_FALSE(offset.known());
}

TEST(HlcTest, MergesOnlyWhatIsAtMostTwoSecondsAhead) {
  Hlc hlc;
  const uint64_t wall = kTestStartNs;
  const uint64_t now = hlc.Now(wall);
  EXPECT_GT(hlc.Now(wall), now);
  EXPECT_TRUE(hlc.Merge((wall / 1'000'000 + 2'000) << 16, wall));
  EXPECT_GT(hlc.Now(wall) >> 16, wall / 1'000'000);
  EXPECT_FALSE(hlc.Merge((wall / 1'000'000 + 2'001) << 16, wall));
  EXPECT_EQ(hlc.refused(), 1u);
}

class CutScheduleTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(CutScheduleTest, FirstIsShortThenEveryCutIsAlignedToTheCollectorsTime) {
  const uint64_t length = GetParam() * kSecond;
  CutSchedule schedule({GetParam(), 10});
  uint64_t mono = 77 * kSecond + 123, wall = kTestStartNs + 13 * kSecond + 456;
  schedule.Begin(mono, wall);
  uint64_t begun = mono;
  for (int epoch = 0; epoch < 6; ++epoch) {
    std::optional<v1::EpochKind> kind;
    while (!(kind = schedule.Due(mono, wall))) {
      const uint64_t wait = schedule.WaitNs(mono, wall);
      ASSERT_GT(wait, 0u);
      mono += wait, wall += wait;
    }
    if (epoch == 0) {
      EXPECT_EQ(*kind, v1::EPOCH_KIND_SHORT);
      EXPECT_EQ(mono - begun, std::min<uint64_t>(10 * kSecond, length));
    } else {
      EXPECT_EQ(wall % length, 0u);
      EXPECT_LE(mono - begun, length + length / 4);
      if (epoch > 1) {
        EXPECT_EQ(*kind, v1::EPOCH_KIND_FULL);
        EXPECT_EQ(mono - begun, length);
      }
    }
    schedule.Begin(mono, wall);
    begun = mono;
  }
}
INSTANTIATE_TEST_SUITE_P(Lengths, CutScheduleTest, ::testing::Values(5, 10, 15, 20, 30, 60));

TEST(CutScheduleStepTest, ASteppedClockCannotMakeAnEpochVeryLongOrVeryShort) {
  CutSchedule schedule({60, 10});
  uint64_t mono = 100 * kSecond, wall = kTestStartNs;
  schedule.Begin(mono, wall);
  schedule.Begin(mono, wall);  // the second epoch
  EXPECT_FALSE(schedule.Due(mono + kSecond, wall + 3'600 * kSecond));
  EXPECT_TRUE(schedule.Due(mono + 16 * kSecond, wall + 3'600 * kSecond));
  EXPECT_FALSE(schedule.Due(mono + 70 * kSecond, wall - 3'600 * kSecond));
  EXPECT_TRUE(schedule.Due(mono + 76 * kSecond, wall - 3'600 * kSecond));
}

TEST(CutScheduleStepTest, ACutThatFailedIsTriedAgainSoonAndTheNextIsAlignedAgain) {
  CutSchedule schedule({60, 10});
  const uint64_t mono = 100 * kSecond, wall = kTestStartNs / (60 * kSecond) * 60 * kSecond;
  schedule.Begin(mono, wall);
  schedule.Begin(mono, wall);  // the second epoch
  ASSERT_TRUE(schedule.Due(mono + 60 * kSecond, wall + 60 * kSecond));
  schedule.Postpone(mono + 60 * kSecond);
  EXPECT_FALSE(schedule.Due(mono + 61 * kSecond, wall + 61 * kSecond));
  EXPECT_EQ(schedule.WaitNs(mono + 61 * kSecond, wall + 61 * kSecond), kSecond);
  EXPECT_EQ(schedule.Due(mono + 62 * kSecond, wall + 62 * kSecond), v1::EPOCH_KIND_FULL);
  schedule.Begin(mono + 62 * kSecond, wall + 62 * kSecond);
  EXPECT_FALSE(schedule.Due(mono + 119 * kSecond, wall + 119 * kSecond));
  EXPECT_TRUE(schedule.Due(mono + 120 * kSecond, wall + 120 * kSecond));
}

TEST(JournalPaceTest, DearDraftsAreMadeLessOftenButFourTimesAnEpoch) {
  JournalPace pace(5 * kSecond, 60);
  pace.Begin(0);
  EXPECT_EQ(pace.at_ns(), 5 * kSecond);
  pace.Drafted(5 * kSecond, 1'000'000);  // 2 s would be within its share
  EXPECT_EQ(pace.at_ns(), 10 * kSecond);
  pace.Drafted(10 * kSecond, 5'000'000);
  EXPECT_EQ(pace.at_ns(), 20 * kSecond);
  pace.Begin(60 * kSecond);
  EXPECT_EQ(pace.at_ns(), 70 * kSecond);
  pace.Drafted(70 * kSecond, 20'000'000);
  EXPECT_EQ(pace.at_ns(), 85 * kSecond);
}

TEST(JournalPaceTest, ShortEpochsAreDraftedFourTimesHoweverDearThatIs) {
  JournalPace pace(5 * kSecond, 4);
  pace.Begin(0);
  EXPECT_EQ(pace.at_ns(), kSecond);
  pace.Drafted(kSecond, 20'000'000);
  EXPECT_EQ(pace.at_ns(), 2 * kSecond);
}

}  // namespace
}  // namespace telltale::agent
