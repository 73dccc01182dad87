// kill -9 of the collector at random moments while an agent sends: no acked epoch lost, none
// counted twice.

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <random>
#include <set>
#include <thread>

#include "storage/store.h"
#include "tests/support/collector_process.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/raw_agent.h"

namespace telltale::testing {
namespace {

constexpr int kKills = 50;
constexpr uint64_t kInFlight = 16;
// Ten days hold 14,400 epochs of a minute: so many a round stay in the past however fast the host.
constexpr uint64_t kMostPerRound = 250;

// Each epoch has a weight of its own, so that the sum tells which were counted.
uint64_t WeightOf(uint64_t sequence) { return 1'000'000 + sequence; }

// Ten days back, so that there is room for all of them.
v1::AgentMessage Epoch(uint64_t sequence) {
  static const uint64_t first = LastMinute() - 10 * 86'400 * kSecond;
  return Summary({}, sequence, BodyEnding(first + sequence * 60 * kSecond, WeightOf(sequence)));
}

// Sends unsettled epochs and new ones until the stream breaks.
void SendUntilKilled(RawAgent& client, std::deque<uint64_t>& unsettled, uint64_t& next,
                     std::set<uint64_t>& acked) {
  if (!client.Write(Hello({})) || !client.Write(SchemaMessage())) return;
  for (const uint64_t sequence : unsettled) {
    if (!client.Write(Epoch(sequence))) return;
  }
  const uint64_t end = next + kMostPerRound;
  while (true) {
    while (unsettled.size() < kInFlight && next < end) {
      unsettled.push_back(next);
      if (!client.Write(Epoch(next++))) return;
    }
    const auto verdict = client.ReadVerdict();
    if (!verdict.has_value()) return;
    ASSERT_TRUE(verdict->kind() == v1::Verdict::STORED || verdict->kind() == v1::Verdict::REPEAT)
        << verdict->ShortDebugString();
    acked.insert(verdict->sequence());
    std::erase(unsettled, verdict->sequence());
  }
}

TEST(IngestKillTest, NoAckedEpochIsLostAndNoneIsCountedTwice) {
  const TempDir scratch;
  Pki pki(scratch.path(), "ca");
  const IssuedFiles own = pki.Issue("collector", "DNS:localhost,IP:127.0.0.1");
  const IssuedFiles node = pki.Issue("web-1", "URI:telltale://node/web-1");
  const std::string data = scratch.path() + "/data";
  CollectorProcess collector(data, pki, own);
  std::mt19937 random(20261118);
  std::deque<uint64_t> unsettled;
  std::set<uint64_t> acked;
  uint64_t next = 1;
  for (int round = 0; round < kKills; ++round) {
    ASSERT_TRUE(collector.Start()) << collector.log();
    RawAgent client(collector.address(), pki.ca(), node);
    std::thread killer([&collector, wait = random() % 200] {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      collector.Kill();
    });
    SendUntilKilled(client, unsettled, next, acked);
    killer.join();
  }
  ASSERT_GT(acked.size(), 100u) << "too little was sent for the test to say anything";

  // One quiet round settles the rest.
  ASSERT_TRUE(collector.Start()) << collector.log();
  {
    RawAgent client(collector.address(), pki.ca(), node);
    client.Write(Hello({}));
    client.Write(SchemaMessage());
    for (const uint64_t sequence : unsettled) client.Write(Epoch(sequence));
    client.WritesDone();
    while (const auto verdict = client.ReadVerdict()) acked.insert(verdict->sequence());
  }
  EXPECT_EQ(collector.Stop(), 0) << collector.log();
  EXPECT_EQ(acked.size(), next - 1);

  const auto store = storage::Store::Open({.path = data + "/store"});
  ASSERT_TRUE(store.ok()) << store.status();
  const uint32_t number = (*store)->nodes().Find("web-1")->number();
  uint64_t expected = 0;
  for (uint64_t sequence = 1; sequence < next; ++sequence) expected += WeightOf(sequence);
  const storage::NodeCounters counters = (*store)->summaries().Counters(number);
  EXPECT_EQ(counters.epochs, next - 1);
  EXPECT_EQ((counters.subs.at({1, 0}).weight), expected);
  EXPECT_EQ(counters.apart, 0u);
  std::set<uint64_t> stored;
  const absl::Status read =
      (*store)->reader().ForEachRaw(number, 0, UINT64_MAX, [&](const storage::RawRow& row) {
        EXPECT_TRUE(stored.insert(row.key.sequence).second) << row.key.sequence << " stands twice";
        return true;
      });
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(stored.size(), next - 1);
  storage::Incarnation incarnation;
  incarnation.fill('a');
  EXPECT_EQ((*store)->summaries().ReceivedThrough(number, incarnation), next - 1);
}

}  // namespace
}  // namespace telltale::testing
