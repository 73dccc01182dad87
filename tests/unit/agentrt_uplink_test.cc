// What the uplink sends when, and what each of the collector's verdicts means.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/agentrt_uplink.h"

namespace telltale::agent {
namespace {

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

TEST_F(UplinkTest, WhatASummaryNeedsIsToldAgainWithItWhenItCouldNotBeStored) {
  logic().OnBacklog(2, 100);
  Welcome();
  logic().Tick();
  Say(2, v1::Verdict::RETRY_AFTER);
  for (int i = 0; i < 20; ++i) {
    clock_.Pass(kSecond);
    logic().Tick();
  }
  std::string order;
  for (const auto& message : transport_.sent) {
    if (message.has_schema()) order += 'S';
    if (message.has_names()) order += 'n';
    if (message.has_summary()) order += '2';
  }
  EXPECT_EQ(order, "Sn2Sn2");
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
    EXPECT_LT(UplinkLogic::SpreadNs(node, "x", 60, 10), 10 * kSecond * 11 / 12);
    EXPECT_LT(UplinkLogic::SpreadNs(node, "x", 60, 60), 55 * kSecond);
    EXPECT_LT(UplinkLogic::SpreadNs(node, "x", 2, 60), 2 * kSecond);
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

// It would spin until an answer came.
TEST_F(UplinkTest, WhatWaitsBehindOneThatDoesNotFitIsNoReasonToWakeUp) {
  logic().OnBacklog(1, 20'000);
  logic().OnBacklog(2, 500'000);
  logic().OnBacklog(3, 600'000);
  Welcome();
  EXPECT_EQ(Run(5), std::vector<uint64_t>{3});
  EXPECT_GT(logic().NextWakeNs(), clock_.MonoNs());
  Say(3, v1::Verdict::STORED);
  EXPECT_EQ(Run(5), (std::vector<uint64_t>{2, 1}));
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

TEST_F(UplinkTest, ARecordThatIsGoneOrDamagedDoesNotStopTheOthers) {
  for (uint64_t i = 1; i <= 3; ++i) logic().OnBacklog(i, 100);
  spool_.missing.insert(3);
  spool_.damaged.insert(2);
  Welcome();
  EXPECT_EQ(Run(1), std::vector<uint64_t>{1});
  EXPECT_EQ(spool_.unreadable, (std::set<uint64_t>{2, 3}));
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

class HeldEpochs : public UplinkTest {
 protected:
  // An epoch that a full disk did not take.
  void Hold(uint64_t sequence, bool at_once) {
    std::string record = EncodeRecord(MakeTestRecord(sequence));
    const uint64_t bytes = record.size();
    logic().OnFresh(sequence, bytes, at_once, std::move(record));
  }
  void Lose(uint64_t first, uint64_t last) {
    v1::Lost lost;
    lost.set_first_sequence(first);
    lost.set_last_sequence(last);
    logic().OnLost(lost);
  }
  // What is sent within a minute to a collector that stores everything.
  std::set<uint64_t> SentAndStored() {
    std::set<uint64_t> all;
    for (int i = 0; i < 60; ++i) {
      for (const uint64_t sequence : Run(1)) {
        all.insert(sequence);
        Say(sequence, v1::Verdict::STORED);
      }
    }
    return all;
  }
};

TEST_F(HeldEpochs, OneThatIsDeclaredLostIsForgottenAndNotSent) {
  for (uint64_t i = 1; i <= 65; ++i) Hold(i, /*at_once=*/false);
  Lose(1, 1);
  EXPECT_EQ(logic().queue().size(), 64u);
  Welcome();
  const std::set<uint64_t> sent = SentAndStored();
  EXPECT_FALSE(sent.contains(1));
  EXPECT_EQ(sent.size(), 64u);
}

TEST_F(HeldEpochs, WhatHasAFileIsSentAlthoughItsNeighboursAreLost) {
  logic().OnBacklog(1, 100);
  Hold(2, /*at_once=*/false);
  Lose(1, 2);
  Welcome();
  EXPECT_EQ(SentAndStored(), std::set<uint64_t>{1});
}

TEST_F(HeldEpochs, OneInFlightIsSettledByItsAnswerAlthoughDeclaredLost) {
  Welcome();
  Hold(1, /*at_once=*/true);
  EXPECT_EQ(Run(1), std::vector<uint64_t>{1});
  Lose(1, 1);
  Say(1, v1::Verdict::STORED);
  EXPECT_EQ(spool_.settled, std::set<uint64_t>{1});
  EXPECT_EQ(logic().queue().size(), 0u);
}

TEST_F(HeldEpochs, OneInFlightThatIsDeclaredLostIsNotSentAgain) {
  Welcome();
  Hold(1, /*at_once=*/true);
  Hold(2, /*at_once=*/true);
  EXPECT_EQ(Run(1), (std::vector<uint64_t>{2, 1}));
  Lose(1, 2);
  Say(1, v1::Verdict::RETRY_AFTER, false, 1'000);
  EXPECT_EQ(logic().queue().size(), 1u);
  logic().OnClosed(absl::UnavailableError("gone"));
  EXPECT_EQ(logic().queue().size(), 0u);
  EXPECT_EQ(logic().queue().in_flight(), 0u);
  clock_.Pass(60 * kSecond);
  Welcome();
  EXPECT_TRUE(SentAndStored().empty());
}

TEST_F(UplinkTest, NamesTheCollectorCannotTakeAreLeftOutAndTheirEpochIsSent) {
  Record record = MakeTestRecord(1);
  v1::Names& large = record.names.emplace_back();
  large.set_build_id("build-id");
  large.set_kind(v1::MAPPING_KIND_FILE);
  for (uint64_t i = 0; i < 5'000; ++i) {
    large.add_offset(i);
    large.add_name(std::string(512, 'f'));
  }
  const std::string bytes = EncodeRecord(record);
  Welcome();
  logic().OnFresh(1, bytes.size(), true, bytes);
  logic().Tick();
  int names = 0;
  for (const auto& message : transport_.sent) {
    EXPECT_LT(message.ByteSizeLong(), size_t{1} << 20);
    names += message.has_names() ? 1 : 0;
  }
  EXPECT_EQ(names, 1) << "the small message goes";
  EXPECT_EQ(transport_.Summaries(), std::vector<uint64_t>{1});
  EXPECT_EQ(logic().counts().names_left_out, 5'000u);
}

}  // namespace
}  // namespace telltale::agent
