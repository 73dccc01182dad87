// The agent's certificates: replaced while it runs, over, wrong. Whatever is wrong with them, the
// agent watches and keeps epochs, says in one line what to do, and tries again.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/agent_process.h"
#include "tests/support/collector_process.h"

namespace telltale::testing {
namespace {

// Free on loopback a moment ago.
uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

class AgentTlsTest : public ::testing::Test {
 protected:
  AgentTlsTest()
      : pki_(scratch_.path(), "ca"),
        own_(pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")),
        ca_file_(scratch_.path() + "/agent-ca.crt") {
    UseAuthority(pki_);
  }

  IssuedFiles IssueNode(Pki& pki, int days = 10) {
    return pki.Issue("db-1", "URI:telltale://node/db-1", days);
  }
  // In one step, as whoever replaces certificates should.
  void UseAuthority(const Pki& pki) {
    std::filesystem::copy_file(pki.ca(), ca_file_ + ".new");
    std::filesystem::rename(ca_file_ + ".new", ca_file_);
  }
  std::string Data() const { return scratch_.path() + "/data"; }

  static uint64_t Number(const AgentProcess& agent, const char* part, const char* name) {
    const auto status = agent.Status();
    return status.is_object() ? status[part][name].get<uint64_t>() : 0;
  }
  static std::string Problem(const AgentProcess& agent) {
    const auto status = agent.Status();
    return status.is_object() ? status["uplink"]["problem"].get<std::string>() : "";
  }
  // It names the trouble in the status and in the log, goes on watching, and keeps what it saw.
  void ExpectTrouble(const AgentProcess& agent, const std::string& text) {
    ASSERT_TRUE(Await([&] { return Problem(agent).find(text) != std::string::npos; }))
        << Problem(agent) << "\n"
        << agent.log();
    ASSERT_TRUE(Await([&] { return Number(agent, "spool", "records") > 0; })) << agent.log();
    EXPECT_GE(agent.Logged(text), 1) << agent.log();
  }

  const TempDir scratch_;
  Pki pki_;
  const IssuedFiles own_;
  const std::string ca_file_;
};

TEST_F(AgentTlsTest, ReplacedCertificatesAndAuthoritiesAreTakenUpWithoutARestart) {
  const std::string port = std::to_string(FreePort());
  CollectorProcess collector(Data(), pki_, own_, "127.0.0.1:" + port);
  ASSERT_TRUE(collector.Start()) << collector.log();
  AgentProcess agent(scratch_.path(), "db-1", ca_file_, IssueNode(pki_, -1));
  agent.Start("localhost:" + port);
  ExpectTrouble(agent, scratch_.path() + "/db-1.crt: expired on ");
  EXPECT_NE(Problem(agent).find("telltale pki issue --role node --name db-1"), std::string::npos)
      << Problem(agent);

  EXPECT_EQ(agent.Logged("expired on "), 1) << "said once, however often it is tried";

  IssueNode(pki_);
  ASSERT_TRUE(Await([&] { return Number(agent, "uplink", "stored") > 0; })) << agent.log();
  ASSERT_TRUE(Await([&] { return Number(agent, "spool", "records") == 0; })) << agent.log();

  // The whole fleet moves to another authority.
  EXPECT_EQ(collector.Stop(), 0);
  Pki other(scratch_.path(), "other");
  CollectorProcess moved(Data(), other, other.Issue("moved", "DNS:localhost"), "127.0.0.1:" + port);
  ASSERT_TRUE(moved.Start()) << moved.log();
  ASSERT_TRUE(Await([&] {
    return Problem(agent).find("not signed by tls.ca") != std::string::npos;
  })) << Problem(agent)
      << "\n"
      << agent.log();
  const uint64_t before = Number(agent, "uplink", "stored");
  UseAuthority(other);
  IssueNode(other);
  ASSERT_TRUE(Await([&] { return Number(agent, "uplink", "stored") > before; })) << agent.log();
  EXPECT_EQ(agent.Logged("vitals active"), 1) << "it was never started again";
  EXPECT_EQ(agent.Stop(), 0) << agent.log();
}

TEST_F(AgentTlsTest, ACollectorOfAnotherAuthorityOrNameIsRefusedWithOneLine) {
  Pki stranger(scratch_.path(), "stranger");
  CollectorProcess strange(Data(), stranger, stranger.Issue("strange", "DNS:localhost"));
  ASSERT_TRUE(strange.Start()) << strange.log();
  AgentProcess agent(scratch_.path(), "db-1", ca_file_, IssueNode(pki_));
  agent.Start(strange.address());
  ExpectTrouble(agent, "the collector's certificate is not signed by tls.ca, or expired");
  EXPECT_EQ(agent.Stop(), 0);
  EXPECT_EQ(strange.Stop(), 0);

  CollectorProcess renamed(Data(), pki_, pki_.Issue("renamed", "DNS:elsewhere"));
  ASSERT_TRUE(renamed.Start()) << renamed.log();
  AgentProcess second(scratch_.path(), "second", ca_file_, IssueNode(pki_));
  second.Start(renamed.address());
  ExpectTrouble(second, "the collector's certificate is not for this host name");
  EXPECT_EQ(second.Stop(), 0);
  // The name it has is given.
  second.Start(renamed.address(), {"--tls-server-name", "elsewhere"});
  ASSERT_TRUE(Await([&] { return Number(second, "uplink", "stored") > 0; })) << second.log();
  EXPECT_EQ(second.Stop(), 0);
}

TEST_F(AgentTlsTest, ACollectorThatDoesNotAcceptTheCertificateIsNamed) {
  CollectorProcess collector(Data(), pki_, own_);
  ASSERT_TRUE(collector.Start()) << collector.log();
  Pki stranger(scratch_.path(), "stranger");
  AgentProcess agent(scratch_.path(), "db-1", ca_file_, IssueNode(stranger));
  agent.Start(collector.address());
  ExpectTrouble(agent, "it does not accept tls.cert");
  EXPECT_EQ(agent.Stop(), 0);
}

TEST_F(AgentTlsTest, ACollectorThatSpeaksOnlyTls12IsRefused) {
  const std::string port = std::to_string(FreePort());
  Program server(scratch_.path() + "/s_server.log");
  server.Start("/usr/bin/openssl", {"s_server", "-accept", port, "-tls1_2", "-alpn", "h2", "-cert",
                                    own_.cert, "-key", own_.key, "-quiet"});
  AgentProcess agent(scratch_.path(), "db-1", ca_file_, IssueNode(pki_));
  agent.Start("localhost:" + port);
  ExpectTrouble(agent, "does not speak TLS 1.3");
  EXPECT_FALSE(server.Ended()) << server.log();
  EXPECT_EQ(agent.Stop(), 0);
}

TEST_F(AgentTlsTest, AnotherNodesCertificateIsNotTakenUp) {
  CollectorProcess collector(Data(), pki_, own_);
  ASSERT_TRUE(collector.Start()) << collector.log();
  const IssuedFiles own = IssueNode(pki_, -1);
  AgentProcess agent(scratch_.path(), "db-1", ca_file_, own);
  agent.Start(collector.address());
  ExpectTrouble(agent, "expired on ");
  pki_.Issue("db-1", "URI:telltale://node/db-2");
  ExpectTrouble(agent, "is node db-2's, this agent is db-1");
  EXPECT_EQ(agent.Stop(), 0);
}

TEST_F(AgentTlsTest, CheckConfigSaysThatACertificateIsOver) {
  const IssuedFiles own = IssueNode(pki_, -1);
  const AgentRun run = RunAgent(scratch_.path(), {"--check-config", "--tls-ca", ca_file_,
                                                  "--tls-cert", own.cert, "--tls-key", own.key});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.output.find("db-1.crt: expired on "), std::string::npos) << run.output;
}

}  // namespace
}  // namespace telltale::testing
