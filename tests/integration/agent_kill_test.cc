// kill -9 of agents at random moments of their epochs, of whole agents and of their sensor and
// uplink processes alone, while a real collector takes their summaries in: every sequence number is
// received or declared lost, nothing is counted twice, and what a crash cut short says so.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include "absl/strings/escaping.h"
#include "agent/host/node_info.h"
#include "storage/store.h"
#include "tests/support/agent_process.h"
#include "tests/support/collector_process.h"
#include "tests/support/raw_agent.h"
#include "tests/support/spool_witness.h"

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
  std::unique_ptr<SpoolWitness> witness;
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
    victim.witness = std::make_unique<SpoolWitness>(victim.agent.get());
    victim.target = target;
    victim.kills_left = target == Target::kAll ? kKillsEach : kChildKills;
    return victim;
  }

  milliseconds Life() {
    return milliseconds(
        std::uniform_int_distribution<int>(kShortestLifeMs, kLongestLifeMs)(random_));
  }

  // One moment of one agent's life.
  void Live(Victim& victim) {
    victim.witness->Look();
    if (victim.kills_left == 0 || SteadyClock::now() < victim.next) return;
    if (victim.target == Target::kAll) {
      victim.agent->Kill();
      victim.witness->Look();
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
    for (const auto& [sequence, record] : victim.witness->seen()) {
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

  // How many partial epochs the node has.
  uint64_t Check(const Victim& victim, storage::Store& store) {
    const std::string& name = victim.agent->name();
    const SpoolWitness::Stored stored = victim.witness->HoldAgainst(store);
    EXPECT_EQ(stored.wrong, "");
    const auto node = store.reader().Node(name);
    if (!node) return 0;
    const auto coverage = store.reader().Coverage(node->number(), stored.first_ns, stored.last_ns);
    EXPECT_TRUE(coverage.ok()) << coverage.status();
    if (coverage.ok()) {
      EXPECT_EQ(coverage->epochs, stored.epochs) << name;
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
    for (Victim& victim : victims) victim.witness->Look();
    return std::all_of(victims.begin(), victims.end(),
                       [](const Victim& victim) { return Settled(*victim.agent); });
  };
  const bool settled = Await(all_settled, 90);
  for (Victim& victim : victims) victim.agent->Signal(SIGTERM);
  for (Victim& victim : victims) {
    EXPECT_EQ(victim.agent->AwaitEnd(), 0) << victim.agent->log();
    ASSERT_TRUE(settled) << victim.agent->name() << "\n" << victim.agent->log();
    victim.witness->Look();
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
    seen += victim.witness->seen().size();
  }
  EXPECT_GT(partial, 0u) << "no kill left a partial epoch behind";
  std::printf("%llu partial epochs, %llu records seen in spools\n",
              static_cast<unsigned long long>(partial), static_cast<unsigned long long>(seen));
}

}  // namespace
}  // namespace telltale::testing
