// Who may speak as whom: greeting, clones, reinstalled agents, silence and planned stops.

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collector/ingest/live_renewal.h"
#include "sketch/vitals.h"
#include "tests/support/ingest_bench.h"

namespace telltale::testing {
namespace {

using v1::Verdict;

class NodesTest : public ::testing::Test {
 protected:
  NodesTest() : core_(Options(), {}, &store_, &clock_) {}

  static ingest::IngestOptions Options() {
    ingest::IngestOptions options;
    options.shards = 1;
    return options;
  }

  struct Agent {
    AgentIdentity who;
    FakeStream stream;
    std::shared_ptr<ingest::Session> session;
  };

  // A stream that said Hello and sent the schema.
  std::unique_ptr<Agent> Connect(const AgentIdentity& who) {
    auto agent = std::make_unique<Agent>();
    agent->who = who;
    agent->session = agent->stream.Open(core_, who.node);
    Send(*agent, Hello(who));
    Send(*agent, SchemaMessage());
    return agent;
  }

  void Send(Agent& agent, v1::AgentMessage message) {
    core_.Deliver(agent.session, std::move(message));
    core_.RunPending();
  }

  Verdict::Kind SendSummary(Agent& agent, uint64_t sequence) {
    Send(agent, Summary(agent.who, sequence));
    return agent.stream.VerdictOn(sequence).kind();
  }

  void Disconnect(Agent& agent) {
    agent.stream.Disconnect();
    core_.RunPending();
  }

  absl::Status Greeting(const std::string& certificate, const v1::AgentMessage& first) {
    FakeStream stream;
    const auto session = stream.Open(core_, certificate);
    core_.Deliver(session, first);
    core_.RunPending();
    return stream.closed().value_or(absl::OkStatus());
  }

  storage::NodeRecord Node() { return store_.Node("web-1"); }
  uint64_t Epochs() { return store_.summaries().Counters(Node().number()).epochs; }
  uint64_t Counted(ingest::Count count) const { return core_.Stats().Of(count); }

  TurnedClock clock_;
  MemoryIngestStore store_{&clock_};
  ingest::IngestCore core_;
};

TEST_F(NodesTest, AValidGreetingIsTakenIn) {
  EXPECT_TRUE(Greeting("web-1", Hello({})).ok());
  EXPECT_EQ(Node().state(), v1::NODE_STATE_REPORTING);
  EXPECT_EQ(Node().info().cpus_possible(), 4u);
}

TEST_F(NodesTest, SpeakingBeforeHelloEndsTheStream) {
  EXPECT_EQ(Greeting("web-1", Summary({}, 1)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(NodesTest, AnotherNameThanTheCertificatesIsRefusedAndLeavesNoTrace) {
  EXPECT_EQ(Greeting("db-1", Hello({})).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(store_.Nodes().size(), 0u);
  EXPECT_EQ(Counted(ingest::Count::kStreamWrongNode), 1u);
}

TEST_F(NodesTest, WhatANodeSaidUnderAnotherNameStandsWithItsOwn) {
  ASSERT_TRUE(Greeting("web-1", Hello({})).ok());
  AgentIdentity other;
  other.node = "db-1";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Greeting("web-1", Hello(other)).code(), absl::StatusCode::kPermissionDenied);
  }
  EXPECT_EQ(Counted(ingest::Count::kStreamWrongNode), 2u);
  ASSERT_EQ(Node().remarks_size(), 1);
  EXPECT_EQ(Node().remarks(0).text(),
            "hello: node db-1, but the certificate is for web-1; a node speaks only for itself");
  EXPECT_EQ(Node().remarks(0).count(), 2u);
  EXPECT_EQ(store_.Nodes().size(), 1u);
}

TEST_F(NodesTest, AnUnknownProtocolIsRefusedByNumber) {
  v1::AgentMessage hello = Hello({});
  hello.mutable_hello()->set_protocol(7);
  const absl::Status status = Greeting("web-1", hello);
  EXPECT_NE(std::string(status.message()).find("protocol 7 is not spoken here, must be 1"),
            std::string::npos);
}

TEST_F(NodesTest, AMalformedGreetingIsRefused) {
  v1::AgentMessage hello = Hello({});
  hello.mutable_hello()->set_incarnation("short");
  EXPECT_EQ(Greeting("web-1", hello).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Counted(ingest::Count::kStreamBadHello), 1u);
}

TEST_F(NodesTest, AStreamThatNeverGreetsIsEnded) {
  FakeStream stream;
  stream.Open(core_, "web-1");
  clock_.Advance(15 * kSecond);
  core_.RunPending();
  EXPECT_FALSE(stream.closed().has_value());
  clock_.Advance(kSecond);
  core_.RunPending();
  EXPECT_EQ(stream.closed()->code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(NodesTest, AGreetingThatWaitsHereIsNotHeldAgainstItsSender) {
  ingest::IngestOptions one_at_a_time = Options();
  one_at_a_time.batch_items = 1;
  ingest::IngestCore core(one_at_a_time, {}, &store_, &clock_);
  FakeStream stream;
  core.Deliver(stream.Open(core, "web-1"), Hello({}));
  clock_.Advance(60 * kSecond);
  core.RunPending();
  EXPECT_FALSE(stream.closed().has_value());
  EXPECT_EQ(Node().state(), v1::NODE_STATE_REPORTING);
}

TEST_F(NodesTest, StreamsThatDoNotGreetAreBoundedBeforeAnythingOfThemIsRead) {
  std::vector<FakeStream> mute(20);
  for (FakeStream& stream : mute) stream.Open(core_, "web-1");
  // Nothing was handled yet: as if the shard stood in a write.
  for (size_t i = 0; i < mute.size(); ++i) {
    EXPECT_EQ(mute[i].closed().has_value(), i >= 16) << i;
  }
  EXPECT_EQ(mute.back().closed()->code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Counted(ingest::Count::kStreamNodeLimit), 4u);
  FakeStream other;
  other.Open(core_, "web-2");
  EXPECT_FALSE(other.closed().has_value());
  for (FakeStream& stream : mute) stream.Disconnect();
  core_.RunPending();
  EXPECT_TRUE(Greeting("web-1", Hello({})).ok()) << "those that ended make room";
}

TEST_F(NodesTest, AFloodIsOfTheNodeNotOfItsStream) {
  v1::AgentMessage nothing;  // of no kind: counted, not answered
  const auto sent_until_closed = [&](Agent& agent) {
    int sent = 0;
    for (; sent < 30'000 && !agent.stream.closed().has_value(); sent += 60) {
      for (int i = 0; i < 60; ++i) core_.Deliver(agent.session, nothing);
      core_.RunPending();
    }
    return sent;
  };
  auto first = Connect({});
  EXPECT_LE(sent_until_closed(*first), 20'100);
  Disconnect(*first);
  auto second = Connect({});
  EXPECT_LE(sent_until_closed(*second), 60) << "a new stream is no new allowance";
  clock_.Advance(11 * kSecond);
  Disconnect(*second);
  auto third = Connect({});
  EXPECT_EQ(SendSummary(*third, 1), Verdict::STORED);
}

TEST_F(NodesTest, OfWhatIsMadeDurableByItselfFewMakeAFlood) {
  v1::AgentMessage lost;
  lost.mutable_lost()->set_first_sequence(1);
  lost.mutable_lost()->set_last_sequence(1);
  auto agent = Connect({});
  int sent = 0;
  for (; sent < 2'000 && !agent->stream.closed().has_value(); sent += 10) {
    for (int i = 0; i < 10; ++i) core_.Deliver(agent->session, lost);
    core_.RunPending();
  }
  EXPECT_GE(sent, 300) << "an agent with holes in its spool says so at once";
  EXPECT_LE(sent, 420);
  EXPECT_EQ(Counted(ingest::Count::kStreamFlood), 1u);
}

TEST_F(NodesTest, MoreNodesThanAllowedAreRefused) {
  MemoryIngestStore small(&clock_, /*max_nodes=*/1);
  ingest::IngestCore core(Options(), {}, &small, &clock_);
  FakeStream first;
  FakeStream second;
  core.Deliver(first.Open(core, "web-1"), Hello({.node = "web-1"}));
  core.Deliver(second.Open(core, "web-2"), Hello({.node = "web-2"}));
  core.RunPending();
  EXPECT_FALSE(first.closed().has_value());
  EXPECT_EQ(second.closed()->code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(NodesTest, ANewConnectionOfTheSameAgentTakesTheOldOnesPlace) {
  auto old = Connect({});
  auto fresh = Connect({});
  ASSERT_TRUE(old->stream.closed().has_value());
  EXPECT_EQ(old->stream.closed()->code(), absl::StatusCode::kAborted);
  EXPECT_EQ(SendSummary(*fresh, 1), Verdict::STORED);
  EXPECT_EQ(Counted(ingest::Count::kCloneConflicts), 0u);
}

TEST_F(NodesTest, AReinstalledAgentCountsOnAndIsRemarked) {
  auto old = Connect({.incarnation = 'a'});
  EXPECT_EQ(SendSummary(*old, 1), Verdict::STORED);
  Disconnect(*old);
  auto fresh = Connect({.incarnation = 'b'});
  Send(*fresh, Summary(fresh->who, 1, Body(-3)));
  EXPECT_EQ(fresh->stream.VerdictOn(1).kind(), Verdict::STORED);
  EXPECT_EQ(Epochs(), 2u);
  EXPECT_EQ(Counted(ingest::Count::kReinstalled), 1u);
  ASSERT_EQ(Node().remarks_size(), 1);
  EXPECT_EQ(Node().remarks(0).kind(), v1::REMARK_KIND_REINSTALLED);
  EXPECT_EQ(Node().state(), v1::NODE_STATE_REPORTING);
}

TEST_F(NodesTest, AReinstalledAgentWaitsUntilTheOldConnectionIsKnownToBeDead) {
  auto old = Connect({.incarnation = 'a'});
  auto fresh = Connect({.incarnation = 'b'});  // the old one's machine lost power
  EXPECT_EQ(SendSummary(*fresh, 1), Verdict::RETRY_AFTER);
  clock_.Advance(20 * kSecond);
  Disconnect(*old);  // keepalive
  EXPECT_EQ(SendSummary(*fresh, 1), Verdict::STORED);
  EXPECT_EQ(Counted(ingest::Count::kCloneConflicts), 0u);
  EXPECT_EQ(Counted(ingest::Count::kReinstalled), 1u);
}

TEST_F(NodesTest, TwoLiveMachinesWithOneCertificateAreBothSetApart) {
  auto first = Connect({.incarnation = 'a'});
  EXPECT_EQ(SendSummary(*first, 1), Verdict::STORED);
  auto second = Connect({.incarnation = 'b'});
  EXPECT_EQ(SendSummary(*second, 1), Verdict::RETRY_AFTER);
  clock_.Advance(6 * kSecond);
  Send(*first, SchemaMessage());  // it is alive
  EXPECT_EQ(Node().state(), v1::NODE_STATE_CLONE_CONFLICT);
  const storage::NodeRecord marked = Node();
  for (const auto& incarnation : marked.incarnations()) {
    EXPECT_EQ(incarnation.status(), v1::INCARNATION_STATUS_APART);
  }
  EXPECT_EQ(Node().incarnations_size(), 2);
  EXPECT_EQ(SendSummary(*first, 2), Verdict::STORED);
  EXPECT_EQ(SendSummary(*second, 1), Verdict::STORED);
  EXPECT_EQ(Epochs(), 1u);  // only what came before the second machine
  EXPECT_EQ(store_.summaries().Counters(Node().number()).apart, 2u);
  EXPECT_EQ(Node().remarks(0).kind(), v1::REMARK_KIND_CLONE);
  // It outlives both connections.
  Disconnect(*first);
  Disconnect(*second);
  auto again = Connect({.incarnation = 'a'});
  EXPECT_EQ(SendSummary(*again, 3), Verdict::STORED);
  EXPECT_EQ(Epochs(), 1u);
}

TEST_F(NodesTest, TwoOpenStreamsAreAConflictEvenIfTheOldOneIsQuiet) {
  auto first = Connect({.incarnation = 'a'});
  auto second = Connect({.incarnation = 'b'});
  clock_.Advance(25 * kSecond);
  core_.RunPending();
  EXPECT_EQ(Counted(ingest::Count::kCloneConflicts), 0u);
  clock_.Advance(kSecond);
  core_.RunPending();
  EXPECT_EQ(Counted(ingest::Count::kCloneConflicts), 1u);
}

TEST_F(NodesTest, ACopiedDiskOnAnotherMachineIsAConflict) {
  auto first = Connect({.incarnation = 'a', .fingerprint = "machine1"});
  auto second = Connect({.incarnation = 'a', .fingerprint = "machine2"});
  EXPECT_FALSE(first->stream.closed().has_value());
  clock_.Advance(26 * kSecond);
  core_.RunPending();
  EXPECT_EQ(Counted(ingest::Count::kCloneConflicts), 1u);
  EXPECT_EQ(Node().incarnations_size(), 1);
}

TEST_F(NodesTest, WhatWasOnItsWayFromADeadAgentProvesNothing) {
  auto old = Connect({.incarnation = 'a'});
  auto fresh = Connect({.incarnation = 'b'});
  clock_.Advance(kSecond);
  EXPECT_EQ(SendSummary(*old, 1), Verdict::STORED);
  EXPECT_EQ(Counted(ingest::Count::kCloneConflicts), 0u);
}

TEST_F(NodesTest, OnlyWhatIsStoredAndCountsIsKeptOpenForFilters) {
  auto agent = Connect({});
  EXPECT_EQ(SendSummary(*agent, 1), Verdict::STORED);
  EXPECT_EQ(SendSummary(*agent, 1), Verdict::REPEAT);
  EXPECT_EQ(SendSummary(*agent, 2), Verdict::STORED);
  EXPECT_EQ(store_.kept(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(NodesTest, ANodeIsSilentAfterThreeEpochsAndTheSpread) {
  auto agent = Connect({});
  EXPECT_EQ(SendSummary(*agent, 1), Verdict::STORED);
  const uint64_t last = clock_.UnixNs();
  clock_.Advance(181 * kSecond);  // 3 x 60 s, and the 1 s over which one node is spread
  core_.RunPending();
  EXPECT_EQ(Node().state(), v1::NODE_STATE_REPORTING);
  clock_.Advance(kSecond);
  core_.RunPending();
  EXPECT_EQ(Node().state(), v1::NODE_STATE_SILENT);
  EXPECT_EQ(Node().state_since_ns(), last);
  EXPECT_EQ(SendSummary(*agent, 2), Verdict::STORED);
  EXPECT_EQ(Node().state(), v1::NODE_STATE_REPORTING);
}

TEST_F(NodesTest, SilenceIsNoticedAcrossARestartOfTheCollector) {
  {
    auto agent = Connect({});
    Disconnect(*agent);
  }
  ingest::IngestCore restarted(Options(), {}, &store_, &clock_);
  clock_.Advance(221 * kSecond);
  restarted.RunPending();
  EXPECT_EQ(Node().state(), v1::NODE_STATE_SILENT);
}

TEST_F(NodesTest, ANodeWhoseEpochsAreAllRefusedIsSilent) {
  auto agent = Connect({});
  ASSERT_EQ(SendSummary(*agent, 1), Verdict::STORED);
  for (uint64_t sequence = 2; sequence < 8; ++sequence) {
    clock_.Advance(60 * kSecond);
    v1::AgentMessage damaged = Summary(agent->who, sequence);
    damaged.mutable_summary()->set_body("not what an agent sends");
    Send(*agent, std::move(damaged));
    ASSERT_EQ(agent->stream.VerdictOn(sequence).kind(), Verdict::REFUSED);
  }
  EXPECT_EQ(Node().state(), v1::NODE_STATE_SILENT);
}

TEST_F(NodesTest, APlannedStopIsNotSilence) {
  auto agent = Connect({});
  v1::AgentMessage message;
  message.mutable_goodbye()->set_reason(v1::Goodbye::STOP);
  Send(*agent, message);
  Disconnect(*agent);
  clock_.Advance(3600 * kSecond);
  core_.RunPending();
  EXPECT_EQ(Node().state(), v1::NODE_STATE_STOPPED);
}

TEST_F(NodesTest, ACommandReachesTheAgentAndItsResultComesBack) {
  auto agent = Connect({});
  std::vector<absl::StatusOr<v1::Result>> results;
  const auto remember = [&](const absl::StatusOr<v1::Result>& result) {
    results.push_back(result);
  };
  core_.SendCommand("web-1", v1::COMMAND_KIND_SUBSCRIBE, "payload", 10 * kSecond, remember);
  const v1::CollectorMessage sent = agent->stream.Messages().back();
  ASSERT_TRUE(sent.has_command());
  EXPECT_EQ(sent.command().payload(), "payload");
  v1::AgentMessage answer;
  answer.mutable_result()->set_id(sent.command().id());
  answer.mutable_result()->set_message("fine");
  Send(*agent, answer);
  Send(*agent, answer);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0]->message(), "fine");

  core_.SendCommand("web-1", v1::COMMAND_KIND_SUBSCRIBE, "", 10 * kSecond, remember);
  clock_.Advance(11 * kSecond);
  core_.RunPending();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].status().code(), absl::StatusCode::kDeadlineExceeded);

  core_.SendCommand("nobody", v1::COMMAND_KIND_SUBSCRIBE, "", kSecond, remember);
  EXPECT_EQ(results[2].status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(NodesTest, AnotherNodeCannotAnswerACommand) {
  auto agent = Connect({});
  auto other = Connect({.node = "db-1"});
  bool answered = false;
  core_.SendCommand("web-1", v1::COMMAND_KIND_SUBSCRIBE, "", kSecond,
                    [&](const auto&) { answered = true; });
  v1::AgentMessage forged;
  forged.mutable_result()->set_id(agent->stream.Messages().back().command().id());
  Send(*other, forged);
  EXPECT_FALSE(answered);
}

TEST_F(NodesTest, ASlowFollowerLosesTheOldestLiveMessagesAndKnowsIt) {
  auto agent = Connect({});
  int woken = 0;
  auto follower = core_.live().Follow({"web-1"}, [&] { ++woken; });
  auto elsewhere = core_.live().Follow({"db-1"}, [] {});
  auto fleet = core_.live().Follow({}, [] {});
  for (uint64_t i = 0; i < ingest::LiveFollower::kMaxItems + 5; ++i) {
    v1::AgentMessage message;
    message.mutable_live()->set_unix_ns(i * kSecond);
    Send(*agent, message);
  }
  const auto oldest = follower->Next();
  ASSERT_TRUE(oldest.has_value());
  EXPECT_EQ(oldest->dropped(), 5u);
  EXPECT_EQ(oldest->second().end_s(), 5.0);
  EXPECT_EQ(oldest->second().node(), "web-1");
  EXPECT_GT(woken, 0);
  EXPECT_EQ(Counted(ingest::Count::kLiveDropped), 5u);
  EXPECT_FALSE(elsewhere->Next().has_value());
  EXPECT_FALSE(fleet->Next().has_value()) << "the seconds of all nodes are too many for one reader";
}

TEST_F(NodesTest, WeightsOfASecondBecomeRatesWithoutWhatWaitsByChoice) {
  auto agent = Connect({});
  auto follower = core_.live().Follow({"web-1"}, [] {});
  v1::AgentMessage message;
  v1::LiveVital& blocking = *message.mutable_live()->add_vitals();
  blocking.set_id(sketch::FindVital("blocking")->id);
  for (const sketch::Sub& sub : sketch::FindVital("blocking")->subs) {
    blocking.add_sub_weight(sub.idle ? 7 * kSecond : kSecond / 2);
  }
  message.mutable_live()->add_vitals()->set_id(200);  // unknown here
  Send(*agent, message);
  const auto news = follower->Next();
  ASSERT_TRUE(news.has_value());
  ASSERT_EQ(news->second().vitals_size(), 1);
  const v1::LiveRate& rate = news->second().vitals(0);
  EXPECT_EQ(rate.vital(), "blocking");
  EXPECT_EQ(rate.unit(), "s");
  EXPECT_EQ(rate.sub_rate(0), 0.5);
  const auto busy = std::ranges::count_if(sketch::FindVital("blocking")->subs,
                                          [](const auto& s) { return !s.idle; });
  EXPECT_EQ(rate.rate(), 0.5 * static_cast<double>(busy));
}

TEST_F(NodesTest, AStoredEpochIsToldToThoseWhoFollowItsNodeOrAll) {
  auto agent = Connect({});
  auto follower = core_.live().Follow({"web-1"}, [] {});
  auto elsewhere = core_.live().Follow({"db-1"}, [] {});
  auto fleet = core_.live().Follow({}, [] {});
  ASSERT_EQ(SendSummary(*agent, 1), Verdict::STORED);
  EXPECT_EQ(follower->Next()->epoch().node(), "web-1");
  const auto news = fleet->Next();
  ASSERT_TRUE(news.has_value());
  EXPECT_GT(news->epoch().end_s(), news->epoch().start_s());
  EXPECT_FALSE(elsewhere->Next().has_value());
}

TEST_F(NodesTest, AFollowedNodeIsAskedForItsSecondsAgainAndAgain) {
  auto agent = Connect({});
  ingest::LiveRenewal renewal(&core_);
  const auto asked = [&] {
    int count = 0;
    for (const v1::CollectorMessage& message : agent->stream.Messages()) {
      v1::Subscribe wanted;
      if (!message.has_command() || !wanted.ParseFromString(message.command().payload())) continue;
      if (wanted.seconds() > 0) ++count;
    }
    return count;
  };
  renewal.Tick(kSecond);
  EXPECT_EQ(asked(), 0) << "nobody looks";
  auto follower = core_.live().Follow({"web-1"}, [] {});
  renewal.Tick(2 * kSecond);
  renewal.Tick(3 * kSecond);
  EXPECT_EQ(asked(), 1);
  renewal.Tick(2 * kSecond + ingest::LiveRenewal::kEveryNs);
  EXPECT_EQ(asked(), 2);
  follower.reset();
  renewal.Tick(3 * kSecond + 2 * ingest::LiveRenewal::kEveryNs);
  EXPECT_EQ(asked(), 2);
}

TEST_F(NodesTest, ThatANodeIsNotConnectedIsToldToWhoFollowsIt) {
  ingest::LiveRenewal renewal(&core_);
  auto follower = core_.live().Follow({"nobody"}, [] {});
  renewal.Tick(kSecond);
  const auto news = follower->Next();
  ASSERT_TRUE(news.has_value());
  EXPECT_EQ(news->trouble().node(), "nobody");
  EXPECT_FALSE(news->trouble().text().empty());
}

TEST_F(NodesTest, NewSettingsReachWelcomedStreams) {
  auto agent = Connect({});
  FakeStream mute;
  mute.Open(core_, "db-1");
  ingest::IngestSettings settings;
  settings.backlog_per_s = 7;
  core_.SetSettings(settings);
  EXPECT_EQ(agent->stream.Messages().back().settings().backlog_per_s(), 7u);
  EXPECT_TRUE(mute.Messages().empty());
}

TEST_F(NodesTest, AFewNodesSendAtOnceAndManyAreSpread) {
  auto first = Connect({});
  EXPECT_EQ(first->stream.Messages().front().welcome().settings().spread_s(), 1u);
  SendSummary(*first, 1);
  std::vector<std::unique_ptr<Agent>> others;
  for (int i = 0; i < 400; ++i) {
    others.push_back(Connect({.node = absl::StrCat("db-", i)}));
    SendSummary(*others.back(), 1);
  }
  const auto last = others.back()->stream.Messages().front().welcome().settings();
  EXPECT_EQ(first->stream.Messages().back().settings().spread_s(), last.spread_s());
  EXPECT_GE(last.spread_s(), 4u) << "a second for each hundred";
  EXPECT_LE(last.spread_s(), 6u) << "and some room";
}

TEST_F(NodesTest, ACollectorThatStartsSpreadsTheNodesItKnows) {
  std::vector<std::unique_ptr<Agent>> agents;
  for (int i = 0; i < 400; ++i) {
    agents.push_back(Connect({.node = absl::StrCat("db-", i)}));
    SendSummary(*agents.back(), 1);
  }
  agents.clear();
  ingest::IngestCore restarted(Options(), {}, &store_, &clock_);
  FakeStream stream;
  const AgentIdentity who = {.node = "db-7"};
  const auto session = stream.Open(restarted, who.node);
  restarted.Deliver(session, Hello(who));
  restarted.RunPending();
  ASSERT_FALSE(stream.Messages().empty());
  EXPECT_GE(stream.Messages().front().welcome().settings().spread_s(), 4u);
}

TEST_F(NodesTest, ARevokedCertificateEndsItsStreamOnly) {
  auto agent = Connect({});
  auto other = Connect({.node = "db-1"});
  core_.CloseStreams(
      [](const ingest::Session& session) {
        return session.peer().certificate_ids.front() == "certificate of web-1";
      },
      absl::UnauthenticatedError("revoked"));
  EXPECT_TRUE(agent->stream.closed().has_value());
  EXPECT_FALSE(other->stream.closed().has_value());
}

}  // namespace
}  // namespace telltale::testing
