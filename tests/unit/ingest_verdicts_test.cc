// What becomes of a summary: each verdict, and when it is given.

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "collector/ingest/byte_budget.h"
#include "proto/codec.h"
#include "sketch/vital_ids.h"
#include "tests/support/ingest_bench.h"

namespace telltale::testing {
namespace {

using v1::Verdict;

class VerdictTest : public ::testing::Test {
 protected:
  VerdictTest() : core_(Options(), {}, &store_, &clock_) {
    session_ = stream_.Open(core_, agent_.node);
    Send(Hello(agent_));
    Send(SchemaMessage());
  }

  static ingest::IngestOptions Options() {
    ingest::IngestOptions options;
    options.shards = 1;
    return options;
  }

  void Send(v1::AgentMessage message) {
    core_.Deliver(session_, std::move(message));
    core_.RunPending();
  }

  uint64_t Counted(ingest::Count count) const { return core_.Stats().Of(count); }

  storage::NodeCounters Counters() {
    return store_.summaries().Counters(store_.Node(agent_.node).number());
  }

  TurnedClock clock_;
  MemoryIngestStore store_{&clock_};
  ingest::IngestCore core_;
  AgentIdentity agent_;
  FakeStream stream_;
  std::shared_ptr<ingest::Session> session_;
};

TEST_F(VerdictTest, WelcomeComesFirstAndSaysWhatIsSettled) {
  ASSERT_FALSE(stream_.Messages().empty());
  const v1::Welcome welcome = stream_.Messages()[0].welcome();
  EXPECT_EQ(welcome.store_id(), "0123456789abcdef");
  EXPECT_EQ(welcome.received_through(), 0u);
  EXPECT_EQ(welcome.settings().spread_s(), 1u);
  EXPECT_EQ(welcome.settings().max_in_flight(), 16u);
  EXPECT_EQ(welcome.settings().max_in_flight_bytes(), 1u << 20);

  Send(Summary(agent_, 1));
  Send(Summary(agent_, 2));
  FakeStream again;
  const auto session = again.Open(core_, agent_.node);
  core_.Deliver(session, Hello(agent_));
  core_.RunPending();
  EXPECT_EQ(again.Messages()[0].welcome().received_through(), 2u);
}

TEST_F(VerdictTest, StoredIsSaidOnlyAfterTheWriteReturned) {
  size_t verdicts_during_write = 99;
  store_.after_put = [&] { verdicts_during_write = stream_.Verdicts().size(); };
  Send(Summary(agent_, 1));
  EXPECT_EQ(verdicts_during_write, 0u);
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::STORED);
  EXPECT_EQ(Counters().epochs, 1u);
}

TEST_F(VerdictTest, SummariesThatWaitTogetherAreWrittenTogether) {
  const uint64_t before = store_.batches;
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) {
    core_.Deliver(session_, Summary(agent_, sequence));
  }
  core_.RunPending();
  EXPECT_EQ(store_.batches, before + 1);
  EXPECT_EQ(stream_.Verdicts().size(), 10u);
}

TEST_F(VerdictTest, TheEndsOfOtherNodesStreamsDoNotDivideABatch) {
  FakeStream others[3];
  std::shared_ptr<ingest::Session> ending[3];
  for (int i = 0; i < 3; ++i) {
    AgentIdentity other = agent_;
    other.node = "other-" + std::to_string(i);
    ending[i] = others[i].Open(core_, other.node);
    core_.Deliver(ending[i], Hello(other));
    core_.Deliver(ending[i], SchemaMessage());
    core_.RunPending();
  }
  const uint64_t before = store_.batches;
  for (uint64_t i = 0; i < 3; ++i) {
    core_.Deliver(session_, Summary(agent_, i + 1));
    core_.ReadsDone(ending[i]);
  }
  core_.RunPending();
  EXPECT_EQ(store_.batches - before, 1u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(stream_.VerdictOn(static_cast<uint64_t>(i) + 1).kind(), Verdict::STORED);
    EXPECT_TRUE(others[i].closed().has_value());
  }
}

TEST_F(VerdictTest, AStreamThatEndsHasItsVerdictsFirst) {
  core_.Deliver(session_, Summary(agent_, 1));
  core_.ReadsDone(session_);
  bool closed_before_write = true;
  store_.after_put = [&] { closed_before_write = stream_.closed().has_value(); };
  core_.RunPending();
  EXPECT_FALSE(closed_before_write);
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::STORED);
  EXPECT_TRUE(stream_.closed().has_value());
}

TEST_F(VerdictTest, ARepeatIsSaidToBeOneAndCountsOnce) {
  Send(Summary(agent_, 1));
  Send(Summary(agent_, 1));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::REPEAT);
  EXPECT_EQ(Counters().epochs, 1u);
  // Twice in one batch as well.
  core_.Deliver(session_, Summary(agent_, 2));
  core_.Deliver(session_, Summary(agent_, 2));
  core_.RunPending();
  EXPECT_EQ(Counters().epochs, 2u);
  EXPECT_EQ(Counted(ingest::Count::kRepeat), 2u);
}

TEST_F(VerdictTest, OneIdentityWithTwoContentsIsAConflictAndSetsTheNodeApart) {
  Send(Summary(agent_, 1, Body(-5, 1'000'000'000)));
  Send(Summary(agent_, 1, Body(-5, 2'000'000'000)));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::REFUSED);
  EXPECT_TRUE(stream_.VerdictOn(1).permanent());
  const storage::NodeRecord node = store_.Node(agent_.node);
  EXPECT_EQ(node.state(), v1::NODE_STATE_CLONE_CONFLICT);
  EXPECT_EQ(node.incarnations(0).status(), v1::INCARNATION_STATUS_APART);
  // From now on nothing of it counts.
  Send(Summary(agent_, 2));
  EXPECT_EQ(stream_.VerdictOn(2).kind(), Verdict::STORED);
  EXPECT_EQ(Counters().epochs, 1u);
  EXPECT_EQ(Counted(ingest::Count::kStoredApart), 1u);
}

TEST_F(VerdictTest, AFullDiskAsksForPatienceAndTheSameSummaryIsStoredLater) {
  store_.before_put = [] { return absl::ResourceExhaustedError("disk full: 12 bytes left"); };
  Send(Summary(agent_, 1));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::RETRY_AFTER);
  EXPECT_GT(stream_.VerdictOn(1).retry_after_ms(), 0u);
  EXPECT_NE(stream_.VerdictOn(1).reason().find("disk full"), std::string::npos);
  EXPECT_EQ(Counted(ingest::Count::kRetryStorageFull), 1u);
  store_.before_put = nullptr;
  Send(Summary(agent_, 1));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::STORED);
  EXPECT_EQ(Counters().epochs, 1u);
}

TEST_F(VerdictTest, ANodeThatSentMoreThanIsStoredOfOneIsAskedForPatience) {
  ingest::IngestSettings settings;
  settings.node_bytes_per_day = 8;
  core_.SetSettings(settings);
  Send(Summary(agent_, 1));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::RETRY_AFTER);
  EXPECT_EQ(stream_.VerdictOn(1).retry_after_ms(), 600'000u) << "not days: it may be raised";
  EXPECT_NE(stream_.VerdictOn(1).reason().find("ingest.node_bytes_per_day"), std::string::npos);
  EXPECT_EQ(Counted(ingest::Count::kRetryNodeBytes), 1u);
  EXPECT_EQ(Counters().epochs, 0u);
  settings.node_bytes_per_day = 1 << 20;
  core_.SetSettings(settings);
  Send(Summary(agent_, 1));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::STORED);
}

TEST_F(VerdictTest, WhatAFullDiskDidNotTakeIsNotCountedAsStored) {
  const v1::AgentMessage summary = Summary(agent_, 1);
  ingest::IngestSettings settings;
  settings.node_bytes_per_day = std::max(summary.ByteSizeLong(), summary.SpaceUsedLong());
  core_.SetSettings(settings);
  store_.before_put = [] { return absl::ResourceExhaustedError("write: disk full"); };
  for (int i = 0; i < 10; ++i) Send(summary);
  store_.before_put = nullptr;
  Send(summary);
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::STORED);
  EXPECT_EQ(Counted(ingest::Count::kRetryNodeBytes), 0u);
}

TEST(ByteBudgetTest, FourDaysWorthAtOnceAndOneADayAfterwards) {
  constexpr uint64_t kDay = 86'400 * kSecond;
  ingest::ByteBudget budget;
  EXPECT_EQ(budget.Take(400, 100, kDay), 0u);
  const uint64_t wait = budget.Take(50, 100, kDay);
  EXPECT_NEAR(static_cast<double>(wait), static_cast<double>(kDay) / 2, 2.0);
  EXPECT_NE(budget.Take(50, 100, kDay + wait / 2), 0u);
  EXPECT_EQ(budget.Take(50, 100, kDay + wait), 0u);
  EXPECT_EQ(budget.Take(400, 100, 10 * kDay), 0u);
}

TEST_F(VerdictTest, AWriteErrorIsCountedApartFromAFullDisk) {
  store_.before_put = [] { return absl::UnavailableError("write: I/O error"); };
  Send(Summary(agent_, 1));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::RETRY_AFTER);
  EXPECT_EQ(Counted(ingest::Count::kRetryStorageError), 1u);
}

TEST_F(VerdictTest, AnotherNodesSummaryIsRefused) {
  AgentIdentity other = agent_;
  other.node = "db-1";
  Send(Summary(other, 1));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::REFUSED);
  EXPECT_EQ(Counted(ingest::Count::kRefusedWrongNode), 1u);
  EXPECT_EQ(store_.Node("db-1").number(), 0u);
  const storage::NodeRecord sender = store_.Node(agent_.node);
  ASSERT_EQ(sender.remarks_size(), 1) << "telltale nodes says whose certificate it was";
  EXPECT_EQ(sender.remarks(0).text(), stream_.VerdictOn(1).reason());
}

TEST_F(VerdictTest, AnotherIncarnationThanTheStreamsIsRefused) {
  AgentIdentity other = agent_;
  other.incarnation = 'z';
  Send(Summary(other, 1));
  EXPECT_EQ(Counted(ingest::Count::kRefusedWrongIncarnation), 1u);
}

TEST_F(VerdictTest, AnOversizedBodyIsRefusedBeforeItIsOpened) {
  v1::AgentMessage message = Summary(agent_, 1);
  message.mutable_summary()->set_body(std::string((256 << 10) + 1, 'x'));
  Send(message);
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::REFUSED);
  EXPECT_TRUE(stream_.VerdictOn(1).permanent());
  EXPECT_EQ(Counted(ingest::Count::kRefusedOversize), 1u);
}

TEST_F(VerdictTest, ADamagedBodyIsRefusedForGoodAndTheStreamGoesOn) {
  v1::AgentMessage message = Summary(agent_, 1);
  message.mutable_summary()->mutable_body()->resize(message.summary().body().size() / 2);
  Send(message);
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::REFUSED);
  EXPECT_EQ(Counted(ingest::Count::kRefusedMalformed), 1u);
  EXPECT_FALSE(stream_.closed().has_value());
  Send(Summary(agent_, 2));
  EXPECT_EQ(stream_.VerdictOn(2).kind(), Verdict::STORED);
}

TEST_F(VerdictTest, DamagedCellsAreRefusedAlthoughNobodyReadsThemNow) {
  v1::AgentMessage message = Summary(agent_, 1);
  message.mutable_summary()->set_cells("not zstd");
  message.mutable_summary()->set_cells_bytes(100);
  Send(message);
  EXPECT_EQ(Counted(ingest::Count::kRefusedMalformed), 1u);
}

TEST_F(VerdictTest, AnEpochInTheFutureStaysWithTheAgentUntilItsTimeComes) {
  Send(Summary(agent_, 1, Body(5)));  // exactly 5 min ahead: still believed
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::STORED);
  Send(Summary(agent_, 2, Body(6)));
  EXPECT_EQ(stream_.VerdictOn(2).kind(), Verdict::RETRY_AFTER);
  EXPECT_EQ(stream_.VerdictOn(2).retry_after_ms(), 60'001u);
  EXPECT_NE(stream_.VerdictOn(2).reason().find("360 s in the collector's future"),
            std::string::npos)
      << stream_.VerdictOn(2).reason();
  clock_.Advance(61 * kSecond);
  Send(Summary(agent_, 2, Body(6)));
  EXPECT_EQ(stream_.VerdictOn(2).kind(), Verdict::STORED);
}

TEST_F(VerdictTest, AClockAnHourAheadWithAKnownOffsetIsStoredAndRemarked) {
  v1::SummaryBody body = Body(60);
  body.mutable_epoch()->set_clock_offset_ns(-3600ll * static_cast<int64_t>(kSecond));
  Send(Summary(agent_, 1, body));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::STORED);
  const storage::NodeRecord node = store_.Node(agent_.node);
  ASSERT_EQ(node.remarks_size(), 1);
  EXPECT_EQ(node.remarks(0).kind(), v1::REMARK_KIND_CLOCK);
  EXPECT_EQ(node.remarks(0).text(), "3600.0 s ahead of the collector's");
}

TEST_F(VerdictTest, MoreCpuTimeThanTheCpusHaveIsStoredButRemarked) {
  Send(Summary(agent_, 1, Body(-5, 4 * 60 * kSecond)));  // all 4 CPUs busy
  EXPECT_EQ(Counted(ingest::Count::kImplausible), 0u);
  Send(Summary(agent_, 2, Body(-4, 5 * 60 * kSecond)));
  EXPECT_EQ(stream_.VerdictOn(2).kind(), Verdict::STORED);
  EXPECT_EQ(Counted(ingest::Count::kImplausible), 1u);
  EXPECT_EQ(store_.Node(agent_.node).remarks(0).kind(), v1::REMARK_KIND_IMPLAUSIBLE);
}

TEST_F(VerdictTest, MoreTimeInSoftInterruptsThanTheCpusHaveIsStoredButRemarked) {
  const auto body = [](int minute, uint64_t ns, bool estimated) {
    v1::SummaryBody made = Body(minute);
    v1::Vital& vital = *made.add_vitals();
    vital.set_id(TELLTALE_SOFTIRQ);
    vital.set_state(v1::VITAL_STATE_ACTIVE);
    vital.set_quantum(1'000'000);
    vital.set_t_log2(1);
    vital.set_estimated(estimated);
    for (int i = 0; i < TELLTALE_SOFTIRQ_SUBS; ++i) vital.add_subs();
    vital.mutable_subs(TELLTALE_SOFTIRQ_NET_RX)->set_events(1);
    vital.mutable_subs(TELLTALE_SOFTIRQ_NET_RX)->set_weight(ns);
    return made;
  };
  Send(Summary(agent_, 1, body(-9, 4 * 60 * kSecond, false)));
  // One of 10 ms that stood for 2,048, with all CPUs in soft interrupts besides.
  Send(Summary(agent_, 2, body(-8, 4 * 60 * kSecond + 2048 * 10'000'000ull, true)));
  EXPECT_EQ(Counted(ingest::Count::kImplausible), 0u);
  Send(Summary(agent_, 3, body(-7, 300 * kSecond, false)));
  EXPECT_EQ(Counted(ingest::Count::kImplausible), 1u);
  Send(Summary(agent_, 4, body(-6, 300 * kSecond, true)));
  EXPECT_EQ(Counted(ingest::Count::kImplausible), 2u);
  EXPECT_EQ(Counted(ingest::Count::kStored), 4u);
  ASSERT_EQ(store_.Node(agent_.node).remarks_size(), 1);
  EXPECT_EQ(store_.Node(agent_.node).remarks(0).text(),
            "softirq time 300 s in an epoch of 60 s on 4 CPUs");
}

// A table of processes that has only `column`: half of `ns` in a row, half without one.
v1::SummaryBody Processes(int minute, v1::ProcessColumn column, uint64_t ns) {
  v1::SummaryBody body = Body(minute);
  v1::ProcessTable& table = *body.mutable_processes();
  table.add_columns(column);
  v1::ProcessRow& row = *table.add_rows();
  row.set_pid(1);
  row.set_instances(1);
  row.add_values(ns / 2);
  table.mutable_other()->add_values(ns - ns / 2);
  return body;
}

TEST_F(VerdictTest, ProcessesThatRanForLongerThanTheCpusCouldAreStoredButRemarked) {
  struct Case {
    v1::ProcessColumn column;
    const char* remark;
  };
  const Case cases[] = {
      {v1::PROCESS_COLUMN_RUN_NS, "processes: run time 300 s in an epoch of 60 s on 4 CPUs"},
      {v1::PROCESS_COLUMN_USER_NS, "processes: user time 300 s in an epoch of 60 s on 4 CPUs"},
      {v1::PROCESS_COLUMN_SYSTEM_NS, "processes: system time 300 s in an epoch of 60 s on 4 CPUs"},
  };
  uint64_t sequence = 0;
  int minute = -40;
  uint64_t implausible = 0;
  for (const Case& one : cases) {
    Send(Summary(agent_, ++sequence, Processes(++minute, one.column, 4 * 60 * kSecond)));
    EXPECT_EQ(Counted(ingest::Count::kImplausible), implausible) << one.remark;
    Send(Summary(agent_, ++sequence, Processes(++minute, one.column, 300 * kSecond)));
    EXPECT_EQ(stream_.VerdictOn(sequence).kind(), Verdict::STORED);
    EXPECT_EQ(Counted(ingest::Count::kImplausible), ++implausible) << one.remark;
    ASSERT_EQ(store_.Node(agent_.node).remarks_size(), static_cast<int>(implausible));
    EXPECT_EQ(store_.Node(agent_.node).remarks().rbegin()->text(), one.remark);
  }
  // Any number of tasks may wait.
  Send(Summary(agent_, ++sequence,
               Processes(++minute, v1::PROCESS_COLUMN_BLOCKED_NS, 5000 * 60 * kSecond)));
  EXPECT_EQ(Counted(ingest::Count::kImplausible), implausible);
}

TEST_F(VerdictTest, AShortEpochMayHoldAccountsThatWereReadAfterItsEnd) {
  v1::SummaryBody body = Processes(-5, v1::PROCESS_COLUMN_RUN_NS, 4 * 2 * kSecond);
  v1::Epoch& epoch = *body.mutable_epoch();
  epoch.set_kind(v1::EPOCH_KIND_SHORT);
  epoch.set_start_unix_ns(epoch.end_unix_ns() - kSecond);
  epoch.set_start_mono_ns(epoch.end_mono_ns() - kSecond);
  epoch.set_watched_ns(kSecond);
  body.mutable_vitals(0)->mutable_subs(0)->set_weight(kSecond);
  Send(Summary(agent_, 1, body));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::STORED) << stream_.VerdictOn(1).reason();
  EXPECT_EQ(Counted(ingest::Count::kImplausible), 0u);
}

TEST_F(VerdictTest, ProcessesThatRanForLongerThanAnythingCouldAreRefused) {
  // More than 4,194,304 tasks could in a minute, and still a number of the format.
  Send(Summary(agent_, 1, Processes(-5, v1::PROCESS_COLUMN_RUN_NS, 280'000'000 * kSecond)));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::REFUSED);
  EXPECT_TRUE(stream_.VerdictOn(1).reason().starts_with("processes: run time"))
      << stream_.VerdictOn(1).reason();
  EXPECT_EQ(Counted(ingest::Count::kRefusedImpossible), 1u);
  EXPECT_EQ(Counters().epochs, 0u);
}

TEST_F(VerdictTest, ImpossibleTotalsAreRefusedAndDoNotReachTheCounters) {
  v1::SummaryBody body = Body(-5);
  body.mutable_vitals(0)->mutable_subs(0)->set_events(1ull << 40);
  Send(Summary(agent_, 1, body));
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::REFUSED);
  EXPECT_EQ(Counted(ingest::Count::kRefusedImpossible), 1u);
  EXPECT_EQ(Counters().epochs, 0u);
}

TEST_F(VerdictTest, AnUnknownSchemaMakesTheAgentSendItFirst) {
  AgentIdentity other = {.node = "db-1"};
  MemoryIngestStore store(&clock_);
  ingest::IngestCore core(Options(), {}, &store, &clock_);
  FakeStream stream;
  const auto session = stream.Open(core, other.node);
  core.Deliver(session, Hello(other));
  core.Deliver(session, Summary(other, 1));
  core.RunPending();
  EXPECT_EQ(stream.VerdictOn(1).kind(), Verdict::RETRY_AFTER);
  core.Deliver(session, SchemaMessage());
  core.Deliver(session, Summary(other, 1));
  core.RunPending();
  EXPECT_EQ(stream.VerdictOn(1).kind(), Verdict::STORED);
}

TEST_F(VerdictTest, EpochsAreNotReadByAnotherNodesSchemaOfTheSameId) {
  MemoryIngestStore store(&clock_);
  ingest::IngestCore core(Options(), {}, &store, &clock_);
  // Its id is a hash, and somebody made another content for it.
  v1::Schema others = proto::BuiltinSchema();
  others.mutable_vitals(0)->set_name("forged");
  ASSERT_TRUE(store.PutSchema(*store.NumberOf("db-1"), others).ok());
  for (int stream_number = 1; stream_number <= 2; ++stream_number) {
    FakeStream stream;
    const auto session = stream.Open(core, agent_.node);
    core.Deliver(session, Hello(agent_));
    core.Deliver(session, SchemaMessage());
    core.Deliver(session, Summary(agent_, 1));
    core.RunPending();
    EXPECT_FALSE(stream.closed().has_value());
    EXPECT_EQ(stream.VerdictOn(1).kind(), Verdict::RETRY_AFTER) << "it stays in the agent's spool";
    EXPECT_EQ(core.Stats().Of(ingest::Count::kSchemaRefused), stream_number);
  }
  const storage::NodeRecord node = store.Node(agent_.node);
  EXPECT_EQ(store.summaries().Counters(node.number()).epochs, 0u);
  ASSERT_EQ(node.remarks_size(), 1);
  EXPECT_EQ(node.remarks(0).kind(), v1::REMARK_KIND_REFUSED);
  EXPECT_EQ(node.remarks(0).text(), "store schema: node 2 brought another " +
                                        std::to_string(others.id()) +
                                        " than the one known by this id, which stays");
  EXPECT_EQ((*store.Schema(others.id()))->vitals(0).name(), "forged");
}

TEST_F(VerdictTest, ALossIsAnsweredOnceItIsInTheLedger) {
  Send(Summary(agent_, 1));
  v1::AgentMessage message;
  v1::Lost& lost = *message.mutable_lost();
  lost.set_first_sequence(2);
  lost.set_last_sequence(4);
  lost.set_reason(v1::Lost::SPOOL_FULL);
  Send(message);
  const auto messages = stream_.Messages();
  ASSERT_TRUE(messages.back().has_lost_recorded());
  EXPECT_EQ(messages.back().lost_recorded().first_sequence(), 2u);
  EXPECT_EQ(messages.back().lost_recorded().last_sequence(), 4u);
  storage::Incarnation incarnation;
  incarnation.fill('a');
  EXPECT_EQ(store_.ReceivedThrough(store_.Node(agent_.node).number(), incarnation), 4u);
  EXPECT_EQ(Counted(ingest::Count::kLostDeclared), 3u);
}

TEST_F(VerdictTest, AnAbsurdLossGetsNoAnswerAndIsRemarked) {
  v1::AgentMessage message;
  message.mutable_lost()->set_first_sequence(9);
  message.mutable_lost()->set_last_sequence(2);
  Send(message);
  EXPECT_FALSE(stream_.Messages().back().has_lost_recorded());
  EXPECT_EQ(Counted(ingest::Count::kStreamBadMessage), 1u);
}

TEST_F(VerdictTest, NamesBeyondTheNodesQuotaAreCountedAndRemarked) {
  MemoryIngestStore store(&clock_, 10, /*name_bytes=*/200);
  ingest::IngestCore core(Options(), {}, &store, &clock_);
  FakeStream stream;
  const auto session = stream.Open(core, agent_.node);
  core.Deliver(session, Hello(agent_));
  v1::AgentMessage message;
  v1::Names& names = *message.mutable_names();
  names.set_build_id("0123456789");
  names.set_kind(v1::MAPPING_KIND_FILE);
  names.set_path("/bin/true");
  for (uint64_t i = 1; i <= 10; ++i) {
    names.add_offset(i);
    names.add_name(std::string(100, 'n'));
  }
  core.Deliver(session, message);
  core.RunPending();
  EXPECT_EQ(core.Stats().Of(ingest::Count::kNamesRefused), 1u);
  ASSERT_EQ(store.Node(agent_.node).remarks_size(), 1);
  EXPECT_EQ(store.Node(agent_.node).remarks(0).kind(), v1::REMARK_KIND_QUOTA);
}

TEST_F(VerdictTest, AProbeIsAnsweredAtOnceWithBothStamps) {
  v1::AgentMessage message;
  message.mutable_probe()->set_sent_unix_ns(42);
  message.mutable_probe()->set_hlc((kStart / 1'000'000 + 1500) << 16);
  core_.Deliver(session_, message);  // nobody runs the shard
  const auto messages = stream_.Messages();
  ASSERT_TRUE(messages.back().has_probe_reply());
  EXPECT_EQ(messages.back().probe_reply().sent_unix_ns(), 42u);
  EXPECT_EQ(messages.back().probe_reply().received_unix_ns(), kStart);
  EXPECT_GT(messages.back().probe_reply().hlc(), message.probe().hlc());
}

TEST_F(VerdictTest, AStampMoreThanTwoSecondsAheadIsNotMergedAndTheNodeIsMarked) {
  v1::AgentMessage message;
  message.mutable_probe()->set_hlc((kStart / 1'000'000 + 2001) << 16);
  Send(message);
  EXPECT_LT(stream_.Messages().back().probe_reply().hlc(), message.probe().hlc());
  EXPECT_EQ(Counted(ingest::Count::kHlcRefused), 1u);
  EXPECT_EQ(store_.Node(agent_.node).remarks(0).kind(), v1::REMARK_KIND_CLOCK);
  message.mutable_probe()->set_hlc((kStart / 1'000'000 + 2000) << 16);
  Send(message);
  EXPECT_EQ(Counted(ingest::Count::kHlcRefused), 1u);
}

TEST_F(VerdictTest, AnAckTakesAsLongAsItsWrite) {
  store_.before_put = [this] {
    clock_.Advance(kSecond / 10);
    return absl::OkStatus();
  };
  Send(Summary(agent_, 1));
  const auto ack = core_.Stats().ack;
  EXPECT_EQ(ack.count, 1u);
  EXPECT_DOUBLE_EQ(ack.sum_s, 0.1);
  EXPECT_DOUBLE_EQ(ack.Quantile(0.99), 0.128);  // upper bound of its bucket
  Send(Summary(agent_, 1));
  ASSERT_EQ(stream_.VerdictOn(1).kind(), Verdict::REPEAT);
  EXPECT_EQ(core_.Stats().ack.count, 1u) << "nothing became durable";
}

TEST_F(VerdictTest, ASlowDiskPausesReadingInsteadOfFillingMemory) {
  // Nobody runs the shard: as if it stood in a write.
  FakeStream stream;
  const auto session = stream.Open(core_, "slow");
  int accepted = 0;
  v1::AgentMessage large;
  large.mutable_summary()->set_body(std::string(200 << 10, 'x'));
  while (core_.Deliver(session, large)) ++accepted;
  EXPECT_EQ(accepted, 5);  // the sixth passes 1 MiB
  EXPECT_LT(core_.Stats().queued_bytes, 2u << 20);
  EXPECT_EQ(stream.resumed, 0);
  core_.RunPending();
  EXPECT_EQ(stream.resumed, 1);
  EXPECT_EQ(core_.Stats().queued_bytes, 0u);
}

TEST_F(VerdictTest, WhatWaitsIsCountedByTheMemoryItTakes) {
  FakeStream stream;
  const auto session = stream.Open(core_, "slow");
  // Two bytes each on the wire, some forty in memory.
  v1::AgentMessage many;
  for (int i = 0; i < 100'000; ++i) many.mutable_names()->add_name("");
  ASSERT_LT(many.ByteSizeLong(), 256u << 10);
  EXPECT_FALSE(core_.Deliver(session, many)) << "one is more than a stream may have waiting";
  EXPECT_GT(core_.Stats().queued_bytes, 1u << 20);
}

TEST_F(VerdictTest, StopAnswersWhatHadArrivedAndThenEndsTheStream) {
  core_.Start();
  core_.Deliver(session_, Summary(agent_, 1));
  core_.Stop();
  EXPECT_EQ(stream_.VerdictOn(1).kind(), Verdict::STORED);
  ASSERT_TRUE(stream_.closed().has_value());
  EXPECT_EQ(stream_.closed()->code(), absl::StatusCode::kUnavailable);
}

TEST_F(VerdictTest, ManyStreamsFromManyThreadsLoseNothing) {
  constexpr int kThreads = 4;
  constexpr uint64_t kEach = 50;
  ingest::IngestOptions options;
  options.shards = 3;
  MemoryIngestStore store(&clock_);
  Send(SchemaMessage());
  ingest::IngestCore core(options, {}, &store, &clock_);
  core.Start();
  std::vector<FakeStream> streams(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const AgentIdentity agent = {.node = "node-" + std::to_string(i)};
      const auto session = streams[i].Open(core, agent.node);
      core.Deliver(session, Hello(agent));
      core.Deliver(session, SchemaMessage());
      for (uint64_t sequence = 1; sequence <= kEach; ++sequence) {
        core.Deliver(session, Summary(agent, sequence));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  core.Stop();
  for (const FakeStream& stream : streams) {
    uint64_t stored = 0;
    for (const Verdict& verdict : stream.Verdicts()) stored += verdict.kind() == Verdict::STORED;
    EXPECT_EQ(stored, kEach);
  }
  EXPECT_EQ(store.summaries().Counters(1).epochs, kEach);
}

}  // namespace
}  // namespace telltale::testing
