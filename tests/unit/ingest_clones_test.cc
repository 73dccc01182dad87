// An operator ends a clone conflict: which agent is kept, what becomes of the epochs that were kept
// apart, who is refused and what it is told.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/ingest_bench.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using v1::Verdict;

constexpr char kFirstId[] = "61616161";   // of incarnation 'a'
constexpr char kSecondId[] = "62626262";  // of 'b'

class ClonesTest : public ::testing::Test {
 protected:
  ClonesTest() { Restart(); }

  static ingest::IngestOptions Options() {
    ingest::IngestOptions options;
    options.shards = 1;
    return options;
  }

  // The collector's memory is gone, what it has stored is not. No agent may be connected.
  void Restart() {
    core_.reset();
    store_.Reopen();
    core_ =
        std::make_unique<ingest::IngestCore>(Options(), ingest::IngestSettings{}, &store_, &clock_);
  }

  struct Agent {
    AgentIdentity who;
    FakeStream stream;
    std::shared_ptr<ingest::Session> session;
  };

  std::unique_ptr<Agent> Connect(const AgentIdentity& who) {
    auto agent = std::make_unique<Agent>();
    agent->who = who;
    agent->session = agent->stream.Open(*core_, who.node);
    Send(*agent, Hello(who));
    Send(*agent, SchemaMessage());
    return agent;
  }

  void Send(Agent& agent, v1::AgentMessage message) {
    core_->Deliver(agent.session, std::move(message));
    core_->RunPending();
  }

  // The epoch that ended `minute` minutes after kStart.
  Verdict SendEpoch(Agent& agent, uint64_t sequence, int minute, uint64_t cpu_ns = 5'000'000'000) {
    Send(agent, Summary(agent.who, sequence, Body(minute, cpu_ns)));
    return agent.stream.VerdictOn(sequence);
  }

  void Disconnect(Agent& agent) {
    agent.stream.Disconnect();
    core_->RunPending();
  }

  // Both stay open long enough that neither can be dead.
  void Conflict() {
    clock_.Advance(26 * kSecond);
    core_->RunPending();
    ASSERT_EQ(Node().state(), v1::NODE_STATE_CLONE_CONFLICT);
  }

  absl::StatusOr<v1::KeepAnswer> Keep(const std::string& agent, const std::string& by = "alice") {
    absl::StatusOr<v1::KeepAnswer> answer = absl::UnknownError("never answered");
    core_->Keep({.node = "web-1", .agent = agent, .by = by},
                [&](const absl::StatusOr<v1::KeepAnswer>& given) { answer = given; });
    core_->RunPending();
    return answer;
  }

  // Counts what is due.
  void Adopt() {
    const uint32_t number = Node().number();
    for (int step = 0; step < 100; ++step) {
      const auto worked = store_.RollUp({&number, 1}, clock_.UnixNs(), 8, nullptr);
      ASSERT_TRUE(worked.ok()) << worked.status();
      if (*worked == 0) return;
    }
    FAIL() << "adopting does not end";
  }

  storage::NodeRecord Node() { return store_.Node("web-1"); }
  v1::KnownIncarnation Known(char incarnation) {
    const storage::NodeRecord record = Node();
    for (const v1::KnownIncarnation& known : record.incarnations()) {
      if (known.id() == std::string(16, incarnation)) return known;
    }
    return {};
  }
  storage::NodeCounters Counters() { return store_.summaries().Counters(Node().number()); }

  TurnedClock clock_;
  MemoryIngestStore store_{&clock_};
  std::unique_ptr<ingest::IngestCore> core_;
};

TEST_F(ClonesTest, AnAgentSetApartIsToldSoAndWhatEndsIt) {
  auto first = Connect({.incarnation = 'a'});
  EXPECT_FALSE(SendEpoch(*first, 1, -10).apart());
  auto second = Connect({.incarnation = 'b'});
  Conflict();
  const Verdict verdict = SendEpoch(*second, 1, -9);
  EXPECT_EQ(verdict.kind(), Verdict::STORED);
  EXPECT_TRUE(verdict.apart());
  EXPECT_EQ(store_.kept().size(), 1u) << "filters would be shown what counts for nothing";
  EXPECT_THAT(verdict.reason(), HasSubstr("telltale nodes --node web-1 --keep 62626262"));
}

TEST_F(ClonesTest, TheStopOfAMachineSetApartIsNotTheNodes) {
  auto first = Connect({.incarnation = 'a'});
  SendEpoch(*first, 1, -10);
  auto second = Connect({.incarnation = 'b'});
  Conflict();
  ASSERT_TRUE(SendEpoch(*second, 1, -9).apart());
  v1::AgentMessage goodbye;
  goodbye.mutable_goodbye()->set_reason(v1::Goodbye::STOP);
  Send(*second, goodbye);
  EXPECT_EQ(store_.stops, 0u);
}

TEST_F(ClonesTest, TheKeptOnesEpochsCountAndTheOtherIsRefused) {
  auto first = Connect({.incarnation = 'a'});
  SendEpoch(*first, 1, -10);
  auto second = Connect({.incarnation = 'b'});
  Conflict();
  SendEpoch(*first, 2, -9);
  SendEpoch(*first, 3, -8);
  SendEpoch(*second, 1, -9);
  EXPECT_EQ(Known('a').epochs_apart(), 2u);
  EXPECT_EQ(Known('b').epochs_apart(), 1u);
  EXPECT_EQ(Counters().epochs, 1u);

  const auto answer = Keep(kFirstId);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->changed());
  EXPECT_EQ(answer->epochs_apart(), 2u);
  ASSERT_EQ(answer->decision().refused_size(), 1);
  EXPECT_EQ(answer->decision().refused(0), std::string("62626262626262626262626262626262"));
  ASSERT_TRUE(second->stream.closed().has_value());
  EXPECT_EQ(second->stream.closed()->code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(second->stream.closed()->message()),
              HasSubstr("operator alice (2026-11-18 17:00 UTC) decided for another agent"));
  EXPECT_THAT(std::string(second->stream.closed()->message()), HasSubstr("certificate of its own"));
  EXPECT_FALSE(first->stream.closed().has_value());
  EXPECT_EQ(Node().state(), v1::NODE_STATE_REPORTING);

  Adopt();
  EXPECT_EQ(Counters().epochs, 3u);
  EXPECT_EQ(Counters().adopted, 2u);
  EXPECT_EQ(Known('a').epochs_apart(), 0u);
  EXPECT_FALSE(Known('a').adopting());
  EXPECT_EQ(Known('b').epochs_apart(), 1u) << "the other one's stay apart";
  const Verdict next = SendEpoch(*first, 4, -7);
  EXPECT_EQ(next.kind(), Verdict::STORED);
  EXPECT_FALSE(next.apart());
  EXPECT_EQ(Counters().epochs, 4u);
  EXPECT_EQ(SendEpoch(*first, 2, -9).kind(), Verdict::REPEAT) << "the same bytes again";
}

TEST_F(ClonesTest, TheDecisionOutlivesBothStreamsAndARestart) {
  auto first = Connect({.incarnation = 'a'});
  auto second = Connect({.incarnation = 'b'});
  Conflict();
  SendEpoch(*first, 1, -10);
  SendEpoch(*second, 1, -10);
  Disconnect(*first);
  Disconnect(*second);
  ASSERT_TRUE(Keep(kSecondId).ok()) << "while neither streams";
  EXPECT_EQ(Node().state(), v1::NODE_STATE_SILENT);
  Restart();
  Adopt();
  EXPECT_EQ(Counters().epochs, 1u);
  auto refused = Connect({.incarnation = 'a'});
  ASSERT_TRUE(refused->stream.closed().has_value());
  EXPECT_EQ(refused->stream.closed()->code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(core_->Stats().Of(ingest::Count::kStreamDecidedAgainst), 1u);
  auto kept = Connect({.incarnation = 'b'});
  EXPECT_FALSE(SendEpoch(*kept, 2, -9).apart());
  EXPECT_EQ(Counters().epochs, 2u);
  EXPECT_EQ(Node().state(), v1::NODE_STATE_REPORTING);
  ASSERT_EQ(Node().decisions_size(), 1);
  EXPECT_EQ(Node().decisions(0).by(), "alice");
  EXPECT_EQ(Node().decisions(0).kept(), std::string(16, 'b'));
}

TEST_F(ClonesTest, SayingItAgainChangesNothing) {
  auto first = Connect({.incarnation = 'a'});
  auto second = Connect({.incarnation = 'b'});
  Conflict();
  ASSERT_TRUE(Keep(kFirstId)->changed());
  const auto again = Keep(kFirstId, "bob");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->changed());
  EXPECT_EQ(again->decision().by(), "alice");
  EXPECT_EQ(Node().decisions_size(), 1);
  EXPECT_EQ(core_->Stats().Of(ingest::Count::kCloneDecisions), 1u);
}

TEST_F(ClonesTest, WhereNothingIsInQuestionNothingIsDecided) {
  auto only = Connect({.incarnation = 'a'});
  const auto answer = Keep(kFirstId);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->changed());
  EXPECT_FALSE(answer->has_decision());
}

TEST_F(ClonesTest, AnIdThatFitsNobodyOrSeveralIsRefusedInOneLine) {
  auto first = Connect({.incarnation = 'a'});
  auto second = Connect({.incarnation = 'b'});
  Conflict();
  EXPECT_EQ(Keep("abcd").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Keep("abcd\x1b").status().message()),
              ::testing::AllOf(HasSubstr("known are 61616161, 62626262"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(Keep("61").status().code(), absl::StatusCode::kInvalidArgument);
  absl::Status status;
  core_->Keep({.node = "nobody", .agent = kFirstId, .by = "alice"},
              [&](const auto& given) { status = given.status(); });
  core_->RunPending();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Node().state(), v1::NODE_STATE_CLONE_CONFLICT);
}

TEST_F(ClonesTest, AnOperatorMayThinkAgain) {
  auto first = Connect({.incarnation = 'a'});
  auto second = Connect({.incarnation = 'b'});
  Conflict();
  SendEpoch(*second, 1, -10);
  ASSERT_TRUE(Keep(kFirstId).ok());
  ASSERT_TRUE(Keep(kSecondId, "bob")->changed());
  EXPECT_TRUE(first->stream.closed().has_value());
  EXPECT_EQ(Known('a').status(), v1::INCARNATION_STATUS_REFUSED);
  Adopt();
  EXPECT_EQ(Counters().epochs, 1u);
  EXPECT_EQ(Node().decisions_size(), 2);
}

TEST_F(ClonesTest, AStrayAgentThatBeginsAnewCannotSetTheKeptOneApart) {
  auto first = Connect({.incarnation = 'a'});
  auto second = Connect({.incarnation = 'b'});
  Conflict();
  ASSERT_TRUE(Keep(kFirstId).ok());
  auto third = Connect({.incarnation = 'c'});
  Conflict();
  EXPECT_FALSE(SendEpoch(*first, 1, -10).apart());
  EXPECT_TRUE(SendEpoch(*third, 1, -10).apart());
  EXPECT_EQ(Counters().epochs, 1u);
  ASSERT_TRUE(Keep(kFirstId)->changed());
  EXPECT_TRUE(third->stream.closed().has_value());
}

TEST_F(ClonesTest, AfterACopiedDiskTheDecisionNamesTheMachine) {
  auto first = Connect({.incarnation = 'a', .fingerprint = "machine1"});
  auto second = Connect({.incarnation = 'a', .fingerprint = "Machine2"});
  Conflict();
  SendEpoch(*first, 1, -10);
  const absl::Status both = Keep(kFirstId).status();
  EXPECT_EQ(both.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(both.message()),
              HasSubstr("say which: 61616161/6d616368, 61616161/4d616368"));
  const auto answer = Keep("61616161/6d616368");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->undivided());
  ASSERT_TRUE(second->stream.closed().has_value());
  EXPECT_THAT(std::string(second->stream.closed()->message()),
              HasSubstr("--keep 61616161/4d616368"));
  EXPECT_FALSE(first->stream.closed().has_value());
  EXPECT_FALSE(SendEpoch(*first, 2, -9).apart());
  Adopt();
  EXPECT_EQ(Counters().epochs, 1u) << "whose the one apart is nobody can say";
  EXPECT_FALSE(Keep(kFirstId)->changed());
}

TEST_F(ClonesTest, MoreEpochsThanOneStepTakesAreAllCounted) {
  auto first = Connect({.incarnation = 'a'});
  auto second = Connect({.incarnation = 'b'});
  Conflict();
  constexpr int kEpochs = 200;  // beyond one step, over midnight
  for (int i = 0; i < kEpochs; ++i) {
    SendEpoch(*first, static_cast<uint64_t>(i) + 1, -1440 + i * 5);
    if (i % 2 == 0) SendEpoch(*second, static_cast<uint64_t>(i) + 1, -1440 + i * 5);
  }
  ASSERT_TRUE(Keep(kFirstId).ok());
  const uint32_t number = Node().number();
  ASSERT_TRUE(store_.RollUp({&number, 1}, clock_.UnixNs(), 8, nullptr).ok());
  EXPECT_LT(Counters().epochs, static_cast<uint64_t>(kEpochs));
  Disconnect(*first);
  Disconnect(*second);
  Restart();  // in the middle of it
  Adopt();
  EXPECT_EQ(Counters().epochs, static_cast<uint64_t>(kEpochs));
  EXPECT_EQ(Counters().adopted, static_cast<uint64_t>(kEpochs));
  EXPECT_EQ(Known('a').epochs_apart(), 0u);
}

}  // namespace
}  // namespace telltale::testing
