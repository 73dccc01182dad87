// What a running agent takes up on SIGHUP, and what it tells a maintainer.

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "storage/store.h"
#include "tests/support/agent_process.h"
#include "tests/support/collector_process.h"

namespace telltale::testing {
namespace {

class AgentReloadTest : public ::testing::Test {
 protected:
  AgentReloadTest()
      : pki_(scratch_.path(), "ca"),
        collector_(scratch_.path() + "/data", pki_,
                   pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")),
        agent_(scratch_.path(), "db-1", pki_.ca(), pki_.Issue("db-1", "URI:telltale://node/db-1")) {
  }

  uint64_t Stored() const {
    const auto status = agent_.Status();
    return status.is_object() ? status["uplink"]["stored"].get<uint64_t>() : 0;
  }

  const TempDir scratch_;
  Pki pki_;
  CollectorProcess collector_;
  AgentProcess agent_;
};

TEST_F(AgentReloadTest, AHangupChangesLabelsAtTheCollectorAndNamesWhatNeedsARestart) {
  const std::string file = scratch_.path() + "/agent.yaml";
  std::ofstream(file) << "labels: {role: db}\nuplink: {max_bytes_per_day: 2MiB}\n";
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  agent_.Start(collector_.address(), {"--config", file});
  ASSERT_TRUE(Await([&] { return Stored() > 0; })) << agent_.log();
  std::ofstream(file) << "labels: {role: web, rack: r7}\nuplink: {max_bytes_per_day: 3MiB}\n"
                         "log: {level: debug}\n";
  agent_.Signal(SIGHUP);
  EXPECT_TRUE(Await([&] { return agent_.Logged("reload: done; changed: labels, log.level") == 1; }))
      << agent_.log();
  EXPECT_EQ(agent_.Logged("uplink.max_bytes_per_day cannot change while running; restart for it"),
            1);
  // Each process reads the file for itself.
  EXPECT_TRUE(Await([&] {
    return agent_.Logged("sensor: labels and logging are as read again") == 1;
  })) << agent_.log();
  std::ofstream(file) << "labels: [\n";
  agent_.Signal(SIGHUP);
  EXPECT_TRUE(Await([&] {
    return agent_.Logged("the configuration read before stays in use") == 1;
  })) << agent_.log();
  // Said on the same stream, before the next epoch.
  const uint64_t before = Stored();
  EXPECT_TRUE(Await([&] { return Stored() > before; })) << agent_.log();
  EXPECT_EQ(agent_.Logged("uplink: connected to"), 1) << agent_.log();
  agent_.Kill();
  EXPECT_EQ(collector_.Stop(), 0);

  auto store = storage::Store::Open({.path = scratch_.path() + "/data/store"});
  ASSERT_TRUE(store.ok()) << store.status();
  const auto node = (*store)->reader().Node("db-1");
  ASSERT_TRUE(node.has_value());
  ASSERT_EQ(node->info().labels_size(), 2);
  EXPECT_EQ(node->info().labels(0).key(), "rack");
  EXPECT_EQ(node->info().labels(1).value(), "web");
}

// Starting it again and again would not help.
TEST_F(AgentReloadTest, ASensorThatCannotStartEndsTheAgentWithOneLine) {
  agent_.Start("localhost:1", {"--epoch", "4s"});
  EXPECT_EQ(agent_.AwaitEnd(), 2);
  std::ofstream(agent_.spool()) << "a file where the directory should be";
  agent_.Start("localhost:1");
  EXPECT_EQ(agent_.AwaitEnd(), 1) << agent_.log();
  std::filesystem::remove(agent_.spool());
  std::filesystem::create_directory(agent_.socket());
  agent_.Start("localhost:1");
  EXPECT_EQ(agent_.AwaitEnd(), 1) << agent_.log();
  EXPECT_EQ(agent_.Logged("status: listen on"), 1) << agent_.log();
  EXPECT_EQ(agent_.Logged("starting it again"), 0) << agent_.log();
}

TEST_F(AgentReloadTest, ABundleHoldsStatusConfigurationLedgerAndLogsButNoKey) {
  // No collector: what was seen stays in the spool.
  agent_.Start("localhost:1");
  const auto records = [&]() -> uint64_t {
    const auto status = agent_.Status();
    return status.is_object() ? status["spool"]["records"].get<uint64_t>() : 0;
  };
  ASSERT_TRUE(Await([&] { return records() > 0; })) << agent_.log();
  const std::string bundle = scratch_.path() + "/bundle.tar.gz";
  const std::vector<std::string> arguments = {"bundle",
                                              "--file",
                                              bundle,
                                              "--log",
                                              scratch_.path() + "/db-1.log",
                                              "--status-socket",
                                              agent_.socket(),
                                              "--spool-dir",
                                              agent_.spool(),
                                              "--log",
                                              "/nonexistent/log"};
  const AgentRun run = RunAgent(scratch_.path(), arguments);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("wrote " + bundle), std::string::npos) << run.output;
  EXPECT_EQ(std::filesystem::status(bundle).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto in_bundle = [&](const std::string& file) {
    const std::string out = scratch_.path() + "/extracted";
    const std::string command = "tar -xzOf " + bundle + " --wildcards '*/" + file + "' > " + out;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return ReadAll(out);
  };
  EXPECT_NE(in_bundle("status.json").find("\"node\": \"db-1\""), std::string::npos);
  EXPECT_NE(in_bundle("agent.yaml").find("spool"), std::string::npos);
  EXPECT_NE(in_bundle("logs/1-db-1.log").find("vitals active"), std::string::npos);
  EXPECT_NE(in_bundle("logs/2-log").find("No such file"), std::string::npos);
  const std::string ledger = in_bundle("spool-ledger.txt");
  EXPECT_NE(ledger.find("incarnation " + ReadAll(agent_.spool() + "/incarnation")),
            std::string::npos)
      << ledger;
  EXPECT_NE(ledger.find("\n  1: "), std::string::npos) << ledger;
  EXPECT_EQ(in_bundle("*").find("PRIVATE KEY"), std::string::npos);

  // What is there is not overwritten, and without an agent the rest is still worth having.
  EXPECT_EQ(RunAgent(scratch_.path(), arguments).exit_code, 1);
  agent_.Kill();
  std::filesystem::remove(bundle);
  EXPECT_EQ(RunAgent(scratch_.path(), arguments).exit_code, 0);
  EXPECT_NE(in_bundle("status.json").find("not in the bundle: "), std::string::npos);
}

}  // namespace
}  // namespace telltale::testing
