// How a stream begins, breaks, comes back and ends, and what besides summaries goes over it.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/unit/agentrt_uplink.h"

namespace telltale::agent {
namespace {

TEST_F(UplinkTest, HelloNamesOldestAndNewestSequence) {
  logic().OnBacklog(7, 100);
  logic().OnBacklog(9, 100);
  logic().Tick();
  ASSERT_EQ(transport_.sent.size(), 1u);
  const v1::Hello& hello = transport_.sent[0].hello();
  EXPECT_EQ(hello.protocol(), 1u);
  EXPECT_EQ(hello.oldest_sequence(), 7u);
  EXPECT_EQ(hello.newest_sequence(), 9u);
  EXPECT_EQ(hello.incarnation(), options_.incarnation);
}

TEST_F(UplinkTest, SendsNothingBeforeWelcome) {
  logic().OnBacklog(1, 100);
  logic().Tick();
  logic().Tick();
  EXPECT_TRUE(transport_.Summaries().empty());
}

TEST_F(UplinkTest, WhatTheCollectorHasReceivedIsSettledWithoutSending) {
  for (uint64_t i = 1; i <= 5; ++i) logic().OnBacklog(i, 100);
  Welcome(4);
  EXPECT_EQ(spool_.settled, (std::set<uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(Run(2), std::vector<uint64_t>{5});
}

TEST_F(UplinkTest, WhatWasInFlightIsSentAgainOnTheNextStream) {
  logic().OnBacklog(1, 100);
  Welcome();
  Run(1);
  logic().OnClosed(absl::UnavailableError("gone"));
  EXPECT_EQ(logic().queue().in_flight(), 0u);
  clock_.Pass(60 * kSecond);
  Welcome();
  EXPECT_EQ(Run(1), std::vector<uint64_t>{1});
  EXPECT_EQ(spool_.new_stores, 1) << "the same store twice is no new one";
}

TEST_F(UplinkTest, AGreetingThatIsNotAnsweredIsGivenLongerNextTime) {
  // How long this attempt waits before it is given up, in seconds.
  const auto waits = [&] {
    clock_.Pass(60 * kSecond);  // the longest pause between attempts
    logic().Tick();
    EXPECT_EQ(logic().state(), UplinkLogic::State::kGreeting);
    const uint64_t wait_ns = logic().NextWakeNs() - clock_.mono;
    const int aborted = transport_.aborted;
    clock_.Pass(wait_ns - 1);
    logic().Tick();
    EXPECT_EQ(transport_.aborted, aborted) << "given up early";
    clock_.Pass(1);
    logic().Tick();
    EXPECT_EQ(transport_.aborted, aborted + 1);
    return wait_ns / kSecond;
  };
  for (const uint64_t expected : {60u, 120u, 240u, 480u, 480u}) EXPECT_EQ(waits(), expected);
  // A collector that refuses is not one that is busy, and answers nothing.
  clock_.Pass(60 * kSecond);
  logic().Tick();
  logic().OnClosed(absl::UnavailableError("refused"));
  EXPECT_EQ(waits(), 480u);
  clock_.Pass(60 * kSecond);
  Welcome();
  logic().OnClosed(absl::UnavailableError("gone"));
  EXPECT_EQ(waits(), 60u) << "after one that was answered";
}

TEST_F(UplinkTest, ReconnectsWithFullJitterUpToTheLimit) {
  random_ = 0.999;
  logic().Tick();
  uint64_t before = 0;
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(transport_.opened, i + 1);
    logic().OnClosed(absl::UnavailableError("refused"));
    const uint64_t delay = logic().NextWakeNs() - clock_.mono;
    EXPECT_GE(delay, before);
    EXPECT_LE(delay, 60 * kSecond);
    before = delay;
    clock_.Pass(delay);
    logic().Tick();
  }
  EXPECT_GT(before, 59 * kSecond);
  random_ = 0;
  logic().OnClosed(absl::UnavailableError("refused"));
  EXPECT_EQ(logic().NextWakeNs(), clock_.mono);
}

TEST_F(UplinkTest, ARestartedCollectorIsFoundAboutAsFastAsItCameBack) {
  random_ = 0.999;
  // The collector is away for this long; how long after it the agent asks again.
  const auto late_ns = [&](uint64_t away_ns) {
    const uint64_t back = clock_.mono + away_ns;
    logic().OnClosed(absl::UnavailableError("gone"));
    while (true) {
      EXPECT_EQ(logic().next_attempt_ns(), logic().NextWakeNs());
      clock_.Pass(logic().NextWakeNs() - clock_.mono);
      logic().Tick();
      if (clock_.mono >= back) return clock_.mono - back;
      logic().OnClosed(absl::UnavailableError("refused"));
    }
  };
  for (int restarts = 0; restarts < 3; ++restarts) {
    Welcome();
    EXPECT_EQ(logic().next_attempt_ns(), 0u);
    Run(31);  // long enough to forget what was before
    EXPECT_LE(late_ns(3 * kSecond), kSecond);
    Welcome();
    Run(31);
    EXPECT_LE(late_ns(20 * kSecond), 5 * kSecond + kSecond / 2);
  }
}

TEST_F(UplinkTest, ASilentCollectorIsLeftAndTriedAgain) {
  logic().Tick();
  clock_.Pass(61 * kSecond);
  logic().Tick();
  EXPECT_EQ(transport_.aborted, 1);
  EXPECT_EQ(logic().state(), UplinkLogic::State::kWaiting);
}

TEST_F(UplinkTest, LostRangesAreDeclaredOnEveryStreamUntilRecorded) {
  v1::Lost lost;
  lost.set_first_sequence(3);
  lost.set_last_sequence(5);
  logic().OnLost(lost);
  const auto declared = [&] {
    logic().Tick();
    int count = 0;
    for (const auto& message : transport_.sent) count += message.has_lost() ? 1 : 0;
    transport_.sent.clear();
    return count;
  };
  Welcome();
  EXPECT_EQ(declared(), 1);
  EXPECT_EQ(declared(), 0);
  logic().OnClosed(absl::UnavailableError("gone"));
  clock_.Pass(60 * kSecond);
  Welcome();
  EXPECT_EQ(declared(), 1);
  v1::CollectorMessage message;
  message.mutable_lost_recorded()->set_first_sequence(3);
  message.mutable_lost_recorded()->set_last_sequence(5);
  logic().OnMessage(message);
  EXPECT_TRUE(spool_.recorded.contains({3, 5}));
  logic().OnClosed(absl::UnavailableError("gone"));
  clock_.Pass(60 * kSecond);
  Welcome();
  EXPECT_EQ(declared(), 0);
}

TEST_F(UplinkTest, AStopSendsWhatIsFreshThenSaysGoodbye) {
  Welcome();
  logic().OnFresh(1, 100, false, "");
  logic().OnStop();
  logic().Tick();
  EXPECT_FALSE(transport_.finished);
  EXPECT_EQ(transport_.Summaries(), std::vector<uint64_t>{1});
  Say(1, v1::Verdict::STORED);
  logic().Tick();
  ASSERT_TRUE(transport_.finished);
  EXPECT_EQ(transport_.sent.back().goodbye().reason(), v1::Goodbye::STOP);
  logic().OnClosed(absl::OkStatus());
  EXPECT_TRUE(logic().finished());
}

TEST_F(UplinkTest, AStopWithoutAnAnswerEndsAtItsDeadline) {
  Welcome();
  logic().OnFresh(1, 100, false, "");
  logic().OnStop();
  logic().Tick();
  clock_.Pass(6 * kSecond);
  logic().Tick();
  EXPECT_TRUE(logic().finished());
}

TEST_F(UplinkTest, AChangedNodeIsToldOnTheStreamAndByTheNextHello) {
  v1::NodeInfo info;
  info.set_clock_source("tsc");
  logic().SetNodeInfo(info);  // before there is a stream: Hello has it
  Welcome();
  info.set_clock_source("hpet");
  logic().SetNodeInfo(info);
  ASSERT_EQ(transport_.sent.size(), 1u);
  EXPECT_EQ(transport_.sent[0].node_info().clock_source(), "hpet");
  transport_.sent.clear();
  logic().OnClosed(absl::UnavailableError("gone"));
  clock_.Pass(60 * kSecond);
  logic().Tick();
  ASSERT_FALSE(transport_.sent.empty());
  EXPECT_EQ(transport_.sent[0].hello().node_info().clock_source(), "hpet");
}

TEST_F(UplinkTest, SecondsAreWatchedForAMinuteAtMostAndToldOverAStreamOnly) {
  v1::Live second;
  second.set_unix_ns(7);
  logic().OnSecond(second);
  EXPECT_TRUE(transport_.sent.empty()) << "nobody is there";
  Welcome();
  v1::CollectorMessage message;
  v1::Subscribe wanted;
  wanted.set_seconds(86'400);
  message.mutable_command()->set_kind(v1::COMMAND_KIND_SUBSCRIBE);
  message.mutable_command()->set_payload(wanted.SerializeAsString());
  logic().OnMessage(message);
  EXPECT_EQ(spool_.watched, std::vector<uint32_t>{60});
  logic().OnSecond(second);
  message.mutable_command()->set_payload("\xff");
  logic().OnMessage(message);
  ASSERT_EQ(transport_.sent.size(), 3u);
  EXPECT_EQ(transport_.sent[0].result().code(), 0u);
  EXPECT_EQ(transport_.sent[1].live().unix_ns(), 7u);
  EXPECT_EQ(transport_.sent[2].result().code(), 3u);
  EXPECT_EQ(spool_.watched.size(), 1u);
}

TEST_F(UplinkTest, AnUnknownCommandIsAnsweredUnimplemented) {
  Welcome();
  v1::CollectorMessage message;
  message.mutable_command()->set_id(8);
  message.mutable_command()->set_kind(static_cast<v1::CommandKind>(99));
  logic().OnMessage(message);
  ASSERT_EQ(transport_.sent.size(), 1u);
  EXPECT_EQ(transport_.sent[0].result().id(), 8u);
  EXPECT_EQ(transport_.sent[0].result().code(), 12u);
}

}  // namespace
}  // namespace telltale::agent
