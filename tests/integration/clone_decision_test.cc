// Two real agents with one node's certificate: the conflict is seen and both are told, an operator
// decides at the command line, the kept one's epochs come into the answers, the other is refused,
// and all that outlives the collector.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "tests/support/agent_process.h"
#include "tests/support/collector_process.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CloneDecisionTest : public ::testing::Test {
 protected:
  CloneDecisionTest()
      : pki_(scratch_.path(), "ca"),
        own_(pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")),
        node_(pki_.Issue("web-1", "URI:telltale://node/web-1")),
        alice_(pki_.Issue("alice", "URI:telltale://operator/alice")),
        grafana_(pki_.Issue("grafana", "URI:telltale://viewer/grafana")),
        real_(scratch_.path(), "real", pki_.ca(), node_),
        stray_(scratch_.path(), "stray", pki_.ca(), node_) {}

  // At the place where the agents look for it, once it had one.
  bool StartCollector() {
    std::string listen = "127.0.0.1:0";
    if (collector_ != nullptr) {
      const std::string address = collector_->address();
      listen = "127.0.0.1" + address.substr(address.rfind(':'));
    }
    collector_ = std::make_unique<CollectorProcess>(scratch_.path() + "/data", pki_, own_, listen);
    return collector_->Start();
  }

  ProgramRun Ask(const IssuedFiles& who, std::vector<std::string> words) const {
    for (const std::string& word :
         {std::string("--collector"), collector_->address(), std::string("--ca"), pki_.ca(),
          std::string("--cert"), who.cert, std::string("--key"), who.key}) {
      words.push_back(word);
    }
    return RunTelltale(words);
  }

  nlohmann::json Node() const {
    const ProgramRun run = Ask(alice_, {"nodes", "--node", "web-1", "-o", "json"});
    const auto json = nlohmann::json::parse(run.output, nullptr, /*allow_exceptions=*/false);
    return json.is_object() && json["nodes"].size() == 1 ? json["nodes"][0] : nlohmann::json();
  }
  std::string State() const {
    const nlohmann::json node = Node();
    return node.is_object() ? node["state"].get<std::string>() : "";
  }
  uint64_t Received() const {
    const nlohmann::json node = Node();
    return node.is_object() ? node["epochsReceived"].get<uint64_t>() : 0;
  }
  // Of the agent with this id; -1: there is none.
  int64_t EpochsApart(const std::string& id) const {
    const nlohmann::json node = Node();
    if (!node.is_object()) return -1;
    for (const auto& agent : node["agents"]) {
      if (agent["id"] == id) return agent["epochsApart"].get<int64_t>();
    }
    return -1;
  }

  static std::string IdOf(const AgentProcess& agent) {
    const auto status = agent.Status();
    return status.is_object() ? status["incarnation"].get<std::string>() : "";
  }
  static uint64_t Uplink(const AgentProcess& agent, const char* figure) {
    const auto status = agent.Status();
    return status.is_object() ? status["uplink"][figure].get<uint64_t>() : 0;
  }
  static std::string Problem(const AgentProcess& agent) {
    const auto status = agent.Status();
    return status.is_object() ? status["uplink"]["problem"].get<std::string>() : "";
  }

  const TempDir scratch_;
  Pki pki_;
  const IssuedFiles own_, node_, alice_, grafana_;
  std::unique_ptr<CollectorProcess> collector_;
  AgentProcess real_, stray_;
};

TEST_F(CloneDecisionTest, OneAgentIsKeptTheOtherRefusedAcrossRestarts) {
  ASSERT_TRUE(StartCollector()) << collector_->log();
  real_.Start(collector_->address());
  ASSERT_TRUE(Await([&] { return Uplink(real_, "stored") > 0; })) << real_.log();
  stray_.Start(collector_->address());

  // Both send, both are told, and the log names the command.
  ASSERT_TRUE(Await([&] { return Uplink(real_, "apart") > 1 && Uplink(stray_, "apart") > 0; }, 120))
      << collector_->log();
  EXPECT_EQ(State(), "CLONE_CONFLICT");
  const std::string real = IdOf(real_), stray = IdOf(stray_);
  EXPECT_THAT(Problem(real_), HasSubstr("--keep " + real.substr(0, 8)));
  EXPECT_THAT(collector_->log(), HasSubstr("telltale nodes --node web-1 --keep"));
  const ProgramRun all = Ask(grafana_, {"nodes"});
  EXPECT_THAT(all.output, HasSubstr("telltale nodes --node web-1")) << all.output;
  const ProgramRun shown = Ask(grafana_, {"nodes", "--node", "web-1"});
  EXPECT_THAT(shown.output, HasSubstr("telltale nodes --node web-1 --keep " + real.substr(0, 8)));
  EXPECT_THAT(shown.output, HasSubstr("telltale nodes --node web-1 --keep " + stray.substr(0, 8)));
  EXPECT_THAT(shown.output, HasSubstr("127.0.0.1"));

  // Only an operator decides, and only for one that is there.
  EXPECT_EQ(Ask(grafana_, {"nodes", "--node", "web-1", "--keep", real}).exit_code, 4);
  EXPECT_EQ(Ask(alice_, {"nodes", "--node", "web-1", "--keep", "00000000"}).exit_code, 5);
  EXPECT_EQ(Ask(alice_, {"nodes", "--keep", real}).exit_code, 2);
  EXPECT_EQ(State(), "CLONE_CONFLICT");

  // A restart in between forgets nothing.
  EXPECT_EQ(collector_->Stop(), 0);
  ASSERT_TRUE(StartCollector()) << collector_->log();
  EXPECT_GT(EpochsApart(real), 1);
  const uint64_t before = Received();

  const ProgramRun kept = Ask(alice_, {"nodes", "--node", "web-1", "--keep", real.substr(0, 8)});
  EXPECT_EQ(kept.exit_code, 0) << kept.output;
  EXPECT_THAT(kept.output, HasSubstr("web-1: agent " + real.substr(0, 8) + " is kept"));
  EXPECT_THAT(kept.output, HasSubstr("operator alice decided for " + real.substr(0, 8)));
  EXPECT_TRUE(Await([&] { return EpochsApart(real) == 0 && Received() >= before + 2; }))
      << Node().dump(2);
  EXPECT_TRUE(Await([&] { return State() == "REPORTING"; })) << Node().dump(2);
  EXPECT_TRUE(Await([&] { return Problem(stray_).find("operator alice") != std::string::npos; }))
      << stray_.log();
  EXPECT_THAT(Problem(stray_), HasSubstr("give this machine a certificate of its own"));
  EXPECT_TRUE(Await([&] { return Problem(real_).empty(); })) << Problem(real_);

  // It holds after another restart, and saying it again changes nothing.
  EXPECT_EQ(collector_->Stop(), 0);
  ASSERT_TRUE(StartCollector()) << collector_->log();
  const uint64_t refused_epochs = Uplink(stray_, "stored");
  const uint64_t stored = Uplink(real_, "stored"), apart = Uplink(real_, "apart");
  EXPECT_TRUE(Await([&] { return Uplink(real_, "stored") > stored + 1; })) << real_.log();
  EXPECT_EQ(Uplink(real_, "apart"), apart);
  EXPECT_EQ(Uplink(stray_, "stored"), refused_epochs);
  const ProgramRun again = Ask(alice_, {"nodes", "--node", "web-1", "--keep", real});
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("nothing to decide"));
  EXPECT_EQ(Node()["decisions"].size(), 1u);
  const ProgramRun coverage = Ask(alice_, {"coverage", "--node", "web-1", "--for", "1m"});
  EXPECT_THAT(coverage.output, Not(HasSubstr("kept apart"))) << coverage.output;
}

}  // namespace
}  // namespace telltale::testing
