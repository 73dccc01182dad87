// What the uplink decides: what goes when, and what each answer of the collector means. No network,
// no waiting.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "agent/loop/cut_schedule.h"
#include "agent/uplink/clock_offset.h"
#include "agent/uplink/hlc.h"
#include "agent/uplink/uplink_logic.h"
#include "tests/unit/agentrt_support.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

class FakeClock : public Clock {
 public:
  uint64_t WallNs() const override { return wall; }
  uint64_t MonoNs() const override { return mono; }
  void Pass(uint64_t ns) { wall += ns, mono += ns; }
  uint64_t wall = kTestStartNs + 1'000 * kTestEpochNs, mono = 5'000 * kSecond;
};

class FakeTransport : public Transport {
 public:
  void Open() override { ++opened; }
  void Send(v1::AgentMessage message) override { sent.push_back(std::move(message)); }
  void Finish() override { finished = true; }
  void Abort() override { ++aborted; }
  std::vector<uint64_t> Summaries() {
    std::vector<uint64_t> sequences;
    for (const auto& message : sent) {
      if (message.has_summary()) sequences.push_back(message.summary().identity().sequence());
    }
    sent.clear();
    return sequences;
  }
  int opened = 0, aborted = 0;
  bool finished = false;
  std::vector<v1::AgentMessage> sent;
};

class FakeSpool : public SpoolSide {
 public:
  absl::StatusOr<Record> Read(uint64_t sequence) override {
    if (missing.contains(sequence)) return absl::NotFoundError("gone");
    if (damaged.contains(sequence)) return absl::DataLossError("damaged");
    return MakeTestRecord(sequence);
  }
  void Settled(uint64_t sequence) override { settled.insert(sequence); }
  void SetAside(uint64_t sequence, const std::string& reason) override { aside[sequence] = reason; }
  void Unreadable(uint64_t sequence) override { unreadable.insert(sequence); }
  void LostRecorded(uint64_t first, uint64_t last) override { recorded.insert({first, last}); }
  void NewStore() override { ++new_stores; }
  void ClockMeasured(int64_t offset, uint64_t error) override {
    offset_ns = offset, error_ns = error;
  }
  void HlcMerged(uint64_t stamp) override { hlc = stamp; }
  void WatchSeconds(uint32_t seconds) override { watched.push_back(seconds); }
  std::set<uint64_t> missing, damaged, settled, unreadable;
  std::map<uint64_t, std::string> aside;
  std::set<std::pair<uint64_t, uint64_t>> recorded;
  std::vector<uint32_t> watched;
  int new_stores = 0;
  int64_t offset_ns = 0;
  uint64_t error_ns = 0, hlc = 0;
};

class UplinkTest : public ::testing::Test {
 protected:
  UplinkTest() {
    options_.node = kTestNode;
    options_.incarnation = std::string(16, '\x5a');
    options_.collector = "collector:7410";
    options_.random = [this] { return random_; };
  }
  UplinkLogic& logic() {
    if (!logic_) {
      logic_ = std::make_unique<UplinkLogic>(options_, clock_, transport_, spool_);
      logic_->SetNodeInfo({});
    }
    return *logic_;
  }
  void Welcome(uint64_t received_through = 0, uint32_t spread_s = 40) {
    logic().Tick();
    v1::CollectorMessage message;
    message.mutable_welcome()->set_store_id("store-1");
    message.mutable_welcome()->set_received_through(received_through);
    message.mutable_welcome()->mutable_settings()->set_spread_s(spread_s);
    logic().OnMessage(message);
    ASSERT_EQ(logic().state(), UplinkLogic::State::kStreaming);
    transport_.sent.clear();
  }
  void Say(uint64_t sequence, v1::Verdict::Kind kind, bool permanent = false,
           uint32_t retry_ms = 0) {
    v1::CollectorMessage message;
    v1::Verdict& verdict = *message.mutable_verdict();
    verdict.set_sequence(sequence);
    verdict.set_kind(kind);
    verdict.set_permanent(permanent);
    verdict.set_retry_after_ms(retry_ms);
    verdict.set_reason("because");
    logic().OnMessage(message);
  }
  // Ticks once a tenth of a second; what was sent.
  std::vector<uint64_t> Run(uint64_t seconds) {
    std::vector<uint64_t> all;
    for (uint64_t i = 0; i <= seconds * 10; ++i) {
      logic().Tick();
      AnswerProbes();
      for (const uint64_t sequence : transport_.Summaries()) all.push_back(sequence);
      clock_.Pass(kSecond / 10);
    }
    return all;
  }
  void AnswerProbes() {
    for (const auto& message : transport_.sent) {
      if (!message.has_probe()) continue;
      v1::CollectorMessage reply;
      reply.mutable_probe_reply()->set_sent_unix_ns(message.probe().sent_unix_ns());
      reply.mutable_probe_reply()->set_received_unix_ns(message.probe().sent_unix_ns() + ahead_ns_);
      reply.mutable_probe_reply()->set_replied_unix_ns(message.probe().sent_unix_ns() + ahead_ns_);
      logic().OnMessage(reply);
    }
  }

  UplinkLogic::Options options_;
  FakeClock clock_;
  FakeTransport transport_;
  FakeSpool spool_;
  double random_ = 0.5;
  int64_t ahead_ns_ = 0;
  std::unique_ptr<UplinkLogic> logic_;
};

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

TEST_F(UplinkTest, SendsSchemaOnceThenNamesThenTheSummary) {
  logic().OnBacklog(1, 100);
  logic().OnBacklog(2, 100);
  Welcome();
  logic().Tick();
  clock_.Pass(kSecond);
  logic().Tick();
  std::string order;
  for (const auto& message : transport_.sent) {
    if (message.has_schema()) order += 'S';
    if (message.has_names()) order += 'n';
    if (message.has_summary())
      order += '0' + static_cast<char>(message.summary().identity().sequence());
  }
  EXPECT_EQ(order, "Sn2n1");
}

TEST_F(UplinkTest, BacklogGoesNewestFirstAtTenASecond) {
  for (uint64_t i = 1; i <= 40; ++i) logic().OnBacklog(i, 100);
  Welcome();
  std::vector<uint64_t> sent;
  for (int tenth = 0; tenth < 20; ++tenth) {
    for (int i = 0; i < 5; ++i) logic().Tick();
    for (const uint64_t sequence : transport_.Summaries()) {
      sent.push_back(sequence);
      Say(sequence, v1::Verdict::STORED);
    }
    clock_.Pass(kSecond / 10);
  }
  ASSERT_EQ(sent.size(), 20u);
  for (size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(sent[i], 40 - i);
}

TEST_F(UplinkTest, AFreshEpochPassesTheBacklogWhenItsMomentComes) {
  for (uint64_t i = 1; i <= 100; ++i) logic().OnBacklog(i, 100);
  Welcome();
  const uint64_t spread = UplinkLogic::SpreadNs(kTestNode, options_.incarnation, 40, 60);
  ASSERT_LT(spread, 40 * kSecond);
  logic().OnFresh(101, 100, false, "");
  const uint64_t due = clock_.mono + spread;
  while (clock_.mono < due) {
    logic().Tick();
    AnswerProbes();
    for (const uint64_t sequence : transport_.Summaries()) {
      EXPECT_NE(sequence, 101u) << "sent before its moment";
      if (sequence < 90) continue;  // the rest never answers: the limit is reached
      Say(sequence, v1::Verdict::STORED);
    }
    clock_.Pass(kSecond / 20);
  }
  Say(89, v1::Verdict::STORED);
  logic().Tick();
  const auto sent = transport_.Summaries();
  ASSERT_FALSE(sent.empty());
  EXPECT_EQ(sent[0], 101u);
}

TEST_F(UplinkTest, TheFirstEpochIsNotSpread) {
  Welcome();
  logic().OnFresh(1, 100, true, "");
  logic().Tick();
  EXPECT_EQ(transport_.Summaries(), std::vector<uint64_t>{1});
}

TEST_F(UplinkTest, SpreadIsBoundedByTheEpoch) {
  for (int i = 0; i < 200; ++i) {
    const std::string node = "node-" + std::to_string(i);
    EXPECT_LE(UplinkLogic::SpreadNs(node, "x", 40, 10), 7 * kSecond);
    EXPECT_LE(UplinkLogic::SpreadNs(node, "x", 40, 60), 40 * kSecond);
  }
  EXPECT_EQ(UplinkLogic::SpreadNs("node", "x", 0, 60), 0u);
}

TEST_F(UplinkTest, NeverMoreThanSixteenInFlight) {
  for (uint64_t i = 1; i <= 60; ++i) logic().OnBacklog(i, 100);
  Welcome();
  EXPECT_EQ(Run(30).size(), 16u);
  Say(60, v1::Verdict::STORED);
  EXPECT_EQ(Run(5).size(), 1u);
}

TEST_F(UplinkTest, NeverMoreThanAMegabyteInFlightButOneThatIsLargerGoesAlone) {
  logic().OnBacklog(1, 400'000);
  logic().OnBacklog(2, 400'000);
  logic().OnBacklog(3, 400'000);
  logic().OnBacklog(4, 2'000'000);
  Welcome();
  EXPECT_EQ(Run(5), std::vector<uint64_t>{4});
  Say(4, v1::Verdict::STORED);
  EXPECT_EQ(Run(5), (std::vector<uint64_t>{3, 2}));
}

TEST_F(UplinkTest, StoredRepeatAndTooLateSettleARecord) {
  for (uint64_t i = 1; i <= 3; ++i) logic().OnBacklog(i, 100);
  Welcome();
  Run(1);
  Say(1, v1::Verdict::STORED);
  Say(2, v1::Verdict::REPEAT);
  Say(3, v1::Verdict::TOO_LATE);
  EXPECT_EQ(spool_.settled, (std::set<uint64_t>{1, 2, 3}));
  EXPECT_EQ(logic().counts().too_late, 1u);
}

TEST_F(UplinkTest, APermanentRefusalIsSetAsideAndTheStreamGoesOn) {
  logic().OnBacklog(1, 100);
  logic().OnBacklog(2, 100);
  Welcome();
  Run(1);
  Say(2, v1::Verdict::REFUSED, true);
  EXPECT_EQ(spool_.aside.at(2), "because");
  EXPECT_TRUE(spool_.settled.empty());
  Say(1, v1::Verdict::STORED);
  EXPECT_EQ(spool_.settled, std::set<uint64_t>{1});
}

TEST_F(UplinkTest, AnOrdinaryRefusalIsTriedAgainAfterAMinute) {
  logic().OnBacklog(1, 100);
  Welcome();
  Run(1);
  Say(1, v1::Verdict::REFUSED, false);
  EXPECT_TRUE(Run(55).empty());
  EXPECT_EQ(Run(10), std::vector<uint64_t>{1});
}

TEST_F(UplinkTest, RetryAfterWaitsAsLongAsAskedAndSendsAgain) {
  logic().OnBacklog(1, 100);
  Welcome();
  Run(1);
  Say(1, v1::Verdict::RETRY_AFTER, false, 5'000);
  EXPECT_TRUE(Run(4).empty());
  EXPECT_EQ(Run(3), std::vector<uint64_t>{1});
  EXPECT_TRUE(spool_.settled.empty());
}

TEST_F(UplinkTest, AVerdictOnSomethingNotInFlightChangesNothing) {
  logic().OnBacklog(1, 100);
  Welcome();
  Say(1, v1::Verdict::STORED);
  Say(77, v1::Verdict::STORED);
  EXPECT_TRUE(spool_.settled.empty());
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

TEST_F(UplinkTest, WhatIsKeptApartIsCountedAndSaidUntilItIsOver) {
  for (uint64_t i = 1; i <= 2; ++i) logic().OnBacklog(i, 100);
  Welcome();
  Run(1);
  v1::CollectorMessage message;
  v1::Verdict& verdict = *message.mutable_verdict();
  verdict.set_sequence(1);
  verdict.set_kind(v1::Verdict::STORED);
  verdict.set_apart(true);
  verdict.set_reason("kept apart: telltale nodes --node web-1 --keep 5a5a5a5a");
  logic().OnMessage(message);
  EXPECT_EQ(logic().counts().stored, 1u);
  EXPECT_EQ(logic().counts().apart, 1u);
  EXPECT_EQ(logic().trouble(), "kept apart: telltale nodes --node web-1 --keep 5a5a5a5a");
  EXPECT_TRUE(spool_.settled.contains(1));
  Say(2, v1::Verdict::STORED);
  EXPECT_EQ(logic().counts().apart, 1u);
  EXPECT_EQ(logic().trouble(), "");
}

TEST_F(UplinkTest, ASilentCollectorIsLeftAndTriedAgain) {
  logic().Tick();
  clock_.Pass(61 * kSecond);
  logic().Tick();
  EXPECT_EQ(transport_.aborted, 1);
  EXPECT_EQ(logic().state(), UplinkLogic::State::kWaiting);
}

TEST_F(UplinkTest, ARecordThatIsGoneOrDamagedDoesNotStopTheOthers) {
  for (uint64_t i = 1; i <= 3; ++i) logic().OnBacklog(i, 100);
  spool_.missing.insert(3);
  spool_.damaged.insert(2);
  Welcome();
  EXPECT_EQ(Run(1), std::vector<uint64_t>{1});
  EXPECT_EQ(spool_.unreadable, (std::set<uint64_t>{2, 3}));
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

TEST_F(UplinkTest, AnEpochFarInTheCollectorsFutureStaysInTheSpool) {
  clock_.wall = kTestStartNs + 2 * kTestEpochNs;  // epoch 1 ends now ...
  ahead_ns_ =
      -3'600 * static_cast<int64_t>(kSecond);  // ... by a clock an hour ahead of the collector's
  Welcome();
  Run(1);
  logic().OnFresh(1, 100, true, "");
  EXPECT_TRUE(Run(60).empty());
  clock_.Pass(3'600 * kSecond);
  EXPECT_EQ(Run(60), std::vector<uint64_t>{1});
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
