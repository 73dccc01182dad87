// kill -9 of agents at random moments of their epochs, of whole agents and of their sensor and
// uplink processes alone, while a real collector takes their summaries in: every sequence number is
// received or declared lost, nothing is counted twice, and what a crash cut short says so.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/escaping.h"
#include "agent/host/node_info.h"
#include "agent/spool/record.h"
#include "agent/spool/spool.h"
#include "proto/codec.h"
#include "storage/store.h"
#include "tests/support/agent_process.h"
#include "tests/support/collector_process.h"
#include "tests/support/raw_agent.h"

namespace telltale::testing {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kAgents = 10, kKillsEach = 5, kChildKills = 3;
constexpr int kShortestLifeMs = 200, kLongestLifeMs = 6'500;  // an epoch is 5 s

// What is killed of an agent.
enum class Target { kAll, kSensor, kUplink };

struct Victim {
  std::unique_ptr<AgentProcess> agent;
  IssuedFiles certificate;
  Target target = Target::kAll;
  int kills_left = kKillsEach;
  SteadyClock::time_point next;
  // Every record that ever stood in the spool when somebody looked, by sequence.
  std::map<uint64_t, agent::Record> seen;
};

// What the store says about one node in the end.
struct Stored {
  std::set<uint64_t> sequences;
  uint64_t partial = 0;
  std::map<std::pair<uint8_t, uint8_t>, uint64_t> weight, events;
  uint64_t longest_gap_ns = 0;  // between the end of one epoch and the start of the next
  uint64_t last_mono_ns = 0, first_ns = UINT64_MAX, last_ns = 0;
};

class AgentKillTest : public ::testing::Test {
 protected:
  AgentKillTest()
      : pki_(scratch_.path(), "ca"),
        collector_(Data(), pki_, pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")) {
    const char* given = getenv("TELLTALE_TEST_SEED");
    const uint64_t seed = given == nullptr ? std::random_device{}() : strtoull(given, nullptr, 10);
    std::printf("TELLTALE_TEST_SEED=%llu repeats this run\n",
                static_cast<unsigned long long>(seed));
    random_.seed(seed);
  }

  std::string Data() const { return scratch_.path() + "/data"; }

  Victim MakeVictim(const std::string& name, Target target) {
    Victim victim;
    victim.certificate = pki_.Issue(name, "URI:telltale://node/" + name);
    victim.agent =
        std::make_unique<AgentProcess>(scratch_.path(), name, pki_.ca(), victim.certificate);
    victim.target = target;
    victim.kills_left = target == Target::kAll ? kKillsEach : kChildKills;
    return victim;
  }

  milliseconds Life() {
    return milliseconds(
        std::uniform_int_distribution<int>(kShortestLifeMs, kLongestLifeMs)(random_));
  }

  static void LookIntoSpool(Victim& victim) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(victim.agent->spool(), ignored)) {
      const uint64_t sequence = agent::SequenceOfFileName(entry.path().filename().string());
      if (sequence == 0 || victim.seen.contains(sequence)) continue;
      auto record = agent::DecodeRecord(ReadAll(entry.path()));
      if (record.ok()) victim.seen[sequence] = *std::move(record);
    }
  }

  // One moment of one agent's life.
  void Live(Victim& victim) {
    LookIntoSpool(victim);
    if (victim.kills_left == 0 || SteadyClock::now() < victim.next) return;
    if (victim.target == Target::kAll) {
      victim.agent->Kill();
      LookIntoSpool(victim);
      victim.agent->Start(collector_.address());
    } else {
      const bool sensor = victim.target == Target::kSensor;
      const pid_t pid = victim.agent->ChildPid(sensor ? "telltale-sensor" : "telltale-uplink");
      // Between two lives: it comes back.
      if (pid == 0 || victim.agent->Status().is_null()) return;
      ASSERT_EQ(kill(pid, SIGKILL), 0);
    }
    --victim.kills_left;
    victim.next = SteadyClock::now() + Life();
  }

  // Nothing is left to send and the present process has cut an epoch of its own.
  static bool Settled(const AgentProcess& agent) {
    const auto status = agent.Status();
    return status.is_object() && status["uplink"]["state"] == "connected" &&
           status["uplink"]["pending"] == 0 && status["spool"]["lostRanges"] == 0 &&
           status["sensor"]["epochs"] > 0 && status["uplink"]["stored"] > 0;
  }

  // A record that was in the spool is known to the collector, with these very bytes.
  void ExpectRepeats(const Victim& victim) {
    RawAgent client(collector_.address(), pki_.ca(), victim.certificate);
    v1::AgentMessage hello;
    hello.mutable_hello()->set_protocol(1);
    *hello.mutable_hello()->mutable_node_info() = agent::ReadNodeInfo("");
    hello.mutable_hello()->mutable_node_info()->set_node(victim.agent->name());
    hello.mutable_hello()->mutable_node_info()->set_epoch_length_s(5);
    hello.mutable_hello()->set_incarnation(Incarnation(victim));
    client.Write(hello);
    for (const auto& [sequence, record] : victim.seen) {
      v1::AgentMessage schema, summary;
      *schema.mutable_schema() = record.schema;
      *summary.mutable_summary() = record.summary;
      client.Write(schema);
      client.Write(summary);
      const auto verdict = client.ReadVerdict();
      ASSERT_TRUE(verdict.has_value())
          << victim.agent->name() << " " << sequence << ": " << client.Finish().error_message();
      EXPECT_EQ(verdict->kind(), v1::Verdict::REPEAT)
          << victim.agent->name() << ": " << verdict->ShortDebugString();
    }
  }

  static std::string Incarnation(const Victim& victim) {
    return absl::HexStringToBytes(ReadAll(victim.agent->spool() + "/incarnation").substr(0, 32));
  }

  static Stored ReadStored(const storage::Store& store, uint32_t number, const std::string& name) {
    Stored stored;
    const v1::Schema schema = proto::BuiltinSchema();
    std::map<uint64_t, v1::SummaryBody> bodies;
    const absl::Status read =
        store.reader().ForEachRaw(number, 0, UINT64_MAX, [&](const storage::RawRow& row) {
          EXPECT_TRUE(stored.sequences.insert(row.key.sequence).second)
              << name << " " << row.key.sequence << " stands twice";
          const auto decoded = proto::DecodeSummary(row.summary, schema);
          EXPECT_TRUE(decoded.ok()) << name << " " << row.key.sequence << decoded.status();
          if (decoded.ok()) bodies[row.key.sequence] = decoded->body;
          stored.first_ns = std::min(stored.first_ns, row.key.start_ns);
          stored.last_ns = std::max(stored.last_ns, row.end_ns);
          return true;
        });
    EXPECT_TRUE(read.ok()) << read;
    for (const auto& [sequence, body] : bodies) Add(name, sequence, body, stored);
    return stored;
  }

  static void Add(const std::string& name, uint64_t sequence, const v1::SummaryBody& body,
                  Stored& stored) {
    // Time is seen once, and in the order of the sequence numbers.
    EXPECT_GE(body.epoch().start_mono_ns(), stored.last_mono_ns) << name << " " << sequence;
    if (stored.last_mono_ns != 0) {
      stored.longest_gap_ns =
          std::max(stored.longest_gap_ns, body.epoch().start_mono_ns() - stored.last_mono_ns);
    }
    stored.last_mono_ns = body.epoch().end_mono_ns();
    const bool says_so = std::any_of(
        body.losses().begin(), body.losses().end(),
        [](const v1::Loss& loss) { return loss.reason() == v1::LOSS_REASON_NOT_JOURNALLED; });
    const bool partial = body.epoch().kind() == v1::EPOCH_KIND_PARTIAL;
    EXPECT_EQ(partial, says_so) << name << " " << sequence;
    stored.partial += partial ? 1 : 0;
    for (const v1::Vital& vital : body.vitals()) {
      for (int sub = 0; sub < vital.subs_size(); ++sub) {
        const auto key = std::pair(static_cast<uint8_t>(vital.id()), static_cast<uint8_t>(sub));
        stored.weight[key] += vital.subs(sub).weight();
        stored.events[key] += vital.subs(sub).events();
      }
    }
  }

  // How many partial epochs the node has.
  uint64_t Check(const Victim& victim, storage::Store& store) {
    const std::string& name = victim.agent->name();
    agent::PosixFileSystem files;
    auto spool =
        agent::Spool::Open({.directory = victim.agent->spool(), .random_bytes = {}}, files);
    EXPECT_TRUE(spool.ok()) << spool.status();
    if (!spool.ok()) return 0;
    EXPECT_TRUE((*spool)->records().empty()) << name;
    EXPECT_TRUE((*spool)->lost().empty()) << name;
    const uint64_t newest = (*spool)->next_sequence() - 1;

    const auto node = store.reader().Node(name);
    EXPECT_TRUE(node.has_value()) << name;
    if (!node) return 0;
    const Stored stored = ReadStored(store, node->number(), name);
    const auto ledgers = store.reader().Ledgers(node->number());
    EXPECT_EQ(ledgers.size(), 1u) << name << ": an agent keeps its incarnation";
    const storage::SequenceLedger& ledger = ledgers.front().second;
    EXPECT_EQ(ledger.highest(), newest) << name;
    EXPECT_EQ(ledger.received_through(), newest) << name << ": a hole";
    EXPECT_EQ(ledger.missing_count(), 0u) << name;
    EXPECT_EQ(ledger.received_count() + ledger.lost_count(), newest) << name;
    EXPECT_EQ(ledger.received_count(), stored.sequences.size()) << name;
    for (const storage::LostRange& lost : ledger.lost()) {
      EXPECT_NE(lost.reason, v1::Lost::REASON_UNSPECIFIED) << name << " " << lost.first;
    }
    for (const auto& [sequence, record] : victim.seen) {
      EXPECT_TRUE(stored.sequences.contains(sequence)) << name << " lost " << sequence;
    }

    const storage::NodeCounters counters = store.summaries().Counters(node->number());
    EXPECT_EQ(counters.epochs, stored.sequences.size()) << name;
    EXPECT_EQ(counters.partial_epochs, stored.partial) << name;
    EXPECT_EQ(counters.apart, 0u) << name;
    for (const auto& [key, sum] : counters.subs) {
      EXPECT_EQ(sum.weight, stored.weight.at(key)) << name << " vital " << int{key.first};
      EXPECT_EQ(sum.events, stored.events.at(key)) << name << " vital " << int{key.first};
    }
    const auto coverage = store.reader().Coverage(node->number(), stored.first_ns, stored.last_ns);
    EXPECT_TRUE(coverage.ok()) << coverage.status();
    if (coverage.ok()) {
      EXPECT_EQ(coverage->epochs, stored.sequences.size()) << name;
      EXPECT_EQ(coverage->partial_epochs, stored.partial) << name;
      // The sensor was gone for a while at each kill, and the answer says so, unless it was back
      // within what counts as the jitter of two clocks.
      const bool jitter = stored.longest_gap_ns <= 11 * storage::CoverageDay::kJoinNs / 10;
      if (victim.target != Target::kUplink && !jitter) {
        EXPECT_GT(coverage->unwatched_ns, 0u)
            << name << " was away for " << stored.longest_gap_ns / 1'000'000 << " ms";
      }
    }
    return stored.partial;
  }

  const TempDir scratch_;
  Pki pki_;
  CollectorProcess collector_;
  std::mt19937_64 random_;
};

TEST_F(AgentKillTest, NoEpochIsLostInSilenceAndNoneIsCountedTwice) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  std::vector<Victim> victims;
  for (int i = 0; i < kAgents; ++i) {
    victims.push_back(MakeVictim("node-" + std::to_string(i), Target::kAll));
  }
  victims.push_back(MakeVictim("sensor-killed", Target::kSensor));
  victims.push_back(MakeVictim("uplink-killed", Target::kUplink));
  for (Victim& victim : victims) {
    victim.agent->Start(collector_.address());
    victim.next = SteadyClock::now() + Life();
  }
  const auto all_killed = [&] {
    for (Victim& victim : victims) Live(victim);
    return std::all_of(victims.begin(), victims.end(),
                       [](const Victim& victim) { return victim.kills_left == 0; });
  };
  ASSERT_TRUE(Await(all_killed, 150));
  const auto all_settled = [&] {
    for (Victim& victim : victims) LookIntoSpool(victim);
    return std::all_of(victims.begin(), victims.end(),
                       [](const Victim& victim) { return Settled(*victim.agent); });
  };
  const bool settled = Await(all_settled, 90);
  for (Victim& victim : victims) victim.agent->Signal(SIGTERM);
  for (Victim& victim : victims) {
    EXPECT_EQ(victim.agent->AwaitEnd(), 0) << victim.agent->log();
    ASSERT_TRUE(settled) << victim.agent->name() << "\n" << victim.agent->log();
    LookIntoSpool(victim);
    ExpectRepeats(victim);
  }
  const AgentProcess& sensor_killed = *victims[kAgents].agent;
  EXPECT_EQ(sensor_killed.Logged("agent: the sensor process (pid "), kChildKills)
      << sensor_killed.log();
  const AgentProcess& uplink_killed = *victims[kAgents + 1].agent;
  EXPECT_EQ(uplink_killed.Logged("agent: the uplink process (pid "), kChildKills)
      << uplink_killed.log();
  EXPECT_EQ(uplink_killed.Logged("vitals active"), 1) << "the sensor went on watching";
  EXPECT_EQ(collector_.Stop(), 0) << collector_.log();

  auto store = storage::Store::Open({.path = Data() + "/store"});
  ASSERT_TRUE(store.ok()) << store.status();
  uint64_t partial = 0, seen = 0;
  for (const Victim& victim : victims) {
    const uint64_t of_node = Check(victim, **store);
    if (victim.target == Target::kUplink) {
      EXPECT_EQ(of_node, 0u) << "the sensor was never killed";
    }
    partial += of_node;
    seen += victim.seen.size();
  }
  EXPECT_GT(partial, 0u) << "no kill left a partial epoch behind";
  std::printf("%llu partial epochs, %llu records seen in spools\n",
              static_cast<unsigned long long>(partial), static_cast<unsigned long long>(seen));
}

}  // namespace
}  // namespace telltale::testing
