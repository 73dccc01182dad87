// telltale token and telltale audit against a real collector: made, used, revoked, written down.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "collector/access/audit_log.h"
#include "storage/store.h"
#include "tests/support/collector_process.h"
#include "tests/support/https_client.h"

namespace telltale::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class TokenTest : public ::testing::Test {
 protected:
  TokenTest()
      : pki_(scratch_.path(), "ca"),
        own_(pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")),
        operator_(pki_.Issue("operator", "URI:telltale://operator/olga")),
        viewer_(pki_.Issue("viewer", "URI:telltale://viewer/ann")),
        collector_(scratch_.path() + "/data", pki_, own_) {}

  ProgramRun Telltale(const IssuedFiles& own, std::vector<std::string> arguments) const {
    for (const std::string& more :
         {std::string("--collector"), collector_.address(), std::string("--ca"), pki_.ca(),
          std::string("--cert"), own.cert, std::string("--key"), own.key}) {
      arguments.push_back(more);
    }
    return RunTelltale(arguments);
  }
  std::string Create(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"token", "create", "--name", "grafana"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramRun run = Telltale(operator_, arguments);
    EXPECT_EQ(run.exit_code, 0) << run.output;
    return run.output.substr(0, run.output.find('\n'));
  }
  HttpReply Get(const std::string& token, const std::string& question = "status") const {
    const std::string ports = ReadAll(scratch_.path() + "/data/ports");
    HttpsClient client(
        {.port = static_cast<uint16_t>(std::stoul(ports.substr(ports.find("https=") + 6))),
         .ca_file = pki_.ca(),
         .client = {}});
    return client.Get("/api/v1/" + question, "Authorization: Bearer " + token + "\r\n");
  }

  const TempDir scratch_;
  Pki pki_;
  const IssuedFiles own_, operator_, viewer_;
  CollectorProcess collector_;
};

TEST_F(TokenTest, ATokenIsMadeUsedRevokedAndWrittenDown) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  const std::string token = Create();
  const std::string id = token.substr(std::string("telltale_").size(), 8);
  EXPECT_EQ(Get(token).status, 200);
  // It outlives the collector, which keeps nothing that would open it.
  EXPECT_EQ(collector_.Stop(), 0);
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  EXPECT_EQ(Get(token).status, 200);
  EXPECT_THAT(collector_.log(), Not(HasSubstr(token.substr(20))));

  const ProgramRun list = Telltale(operator_, {"token", "list"});
  EXPECT_THAT(list.output, HasSubstr(id));
  EXPECT_THAT(list.output, HasSubstr("good until"));
  EXPECT_THAT(list.output, Not(HasSubstr(token.substr(20))));
  EXPECT_EQ(Telltale(operator_, {"token", "revoke", id}).exit_code, 0);
  const HttpReply refused = Get(token);
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.body, HasSubstr("is revoked"));

  const ProgramRun audit = Telltale(operator_, {"audit"});
  EXPECT_EQ(audit.exit_code, 0);
  EXPECT_THAT(audit.output, HasSubstr("operator/olga"));
  EXPECT_THAT(audit.output, HasSubstr("token create"));
  EXPECT_THAT(audit.output, HasSubstr("token revoke"));
  EXPECT_THAT(audit.output, HasSubstr("REFUSED use a token"));
  EXPECT_THAT(audit.output, HasSubstr("until 20")) << "and not for how many seconds";
  EXPECT_THAT(Telltale(operator_, {"audit", "-o", "json"}).output, HasSubstr("\"time\": \"20"));
  EXPECT_THAT(Telltale(operator_, {"audit", "-o", "csv"}).output, HasSubstr("time,who,address"));
}

TEST_F(TokenTest, AllThatTheAuditKeepsIsListedPageByPage) {
  constexpr int kEntries = 1'700;  // more than one question is answered with
  constexpr uint64_t kSecond = 1'000'000'000, kFirst = 1'763'632'800 * kSecond;
  {
    std::filesystem::create_directories(scratch_.path() + "/data");
    auto store = storage::Store::Open({.path = scratch_.path() + "/data/store"});
    ASSERT_TRUE(store.ok()) << store.status();
    uint64_t now = kFirst;
    const auto log = access::AuditLog::Open(&(*store)->catalog(), [&now] { return now; });
    ASSERT_TRUE(log.ok()) << log.status();
    for (int i = 0; i < kEntries; ++i, now += 2 * kSecond) {
      (*log)->Refused("", "1.2.3.4", "use a token", "unknown");
    }
  }
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  const auto rows = [](const ProgramRun& run) {
    size_t count = 0;
    for (size_t at = 0; (at = run.output.find("use a token", at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  };
  const ProgramRun usual = Telltale(operator_, {"audit"});
  EXPECT_EQ(rows(usual), 100u);
  EXPECT_THAT(usual.output, HasSubstr("1600 older ones of this time are left out: --limit 1700"));
  const ProgramRun more = Telltale(operator_, {"audit", "--limit", "1650", "-o", "csv"});
  EXPECT_EQ(rows(more), 1650u);
  EXPECT_NE(more.output.find("50 older ones of this time are left out"), std::string::npos);
  const ProgramRun json = Telltale(operator_, {"audit", "--limit", "1100", "-o", "json"});
  EXPECT_EQ(rows(json), 1100u);
  EXPECT_THAT(json.output.substr(json.output.size() - 100), HasSubstr("\"leftOut\": 600"));
  const ProgramRun all = Telltale(operator_, {"audit", "--limit", "100000"});
  EXPECT_EQ(rows(all), static_cast<size_t>(kEntries));
  EXPECT_EQ(all.output.find("left out"), std::string::npos);
  EXPECT_EQ(rows(Telltale(operator_, {"audit", "--from", "@1763632810", "--to", "@1763632830"})),
            10u);
  EXPECT_EQ(rows(Telltale(operator_, {"audit", "--to", "@1763632810"})), 5u);
  EXPECT_EQ(rows(Telltale(operator_, {"audit", "--from", "-1h"})), 0u);
}

TEST_F(TokenTest, WhoOpensSamplesIsWrittenDownAtBothDoors) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  const std::string token = Create();
  (void)Telltale(viewer_, {"samples", "--vital", "cpu"});
  (void)Telltale(viewer_, {"flame", "--vital", "cpu"});
  (void)Telltale(viewer_, {"top", "--vital", "cpu"});
  for (int i = 0; i < 2; ++i) (void)Get(token, "stacks?vital=cpu");
  (void)Get(token, "investigate");
  const std::string audit = Telltale(operator_, {"audit", "-o", "csv"}).output;
  EXPECT_THAT(audit, ContainsRegex("viewer/ann,ipv4:127.0.0.1:[0-9]+,samples,all nodes,0,0,1"));
  EXPECT_THAT(audit, ContainsRegex("viewer/ann,ipv4:127.0.0.1:[0-9]+,flame,all nodes,0,0,1"));
  EXPECT_THAT(audit, ContainsRegex("grafana,127.0.0.1,stacks,all nodes,0,0,2"));
  EXPECT_THAT(audit, ContainsRegex("grafana,127.0.0.1,investigate,all nodes,0,0,1"));
  EXPECT_THAT(audit, Not(HasSubstr(",top,")));
  EXPECT_THAT(Telltale(operator_, {"audit"}).output,
              HasSubstr("asked for stacks: all nodes, 2 times in the hour"));
}

TEST_F(TokenTest, NoneIsMadeWhereItsSecretCouldNotBeShown) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  const ProgramRun refused =
      Telltale(operator_, {"token", "create", "--name", "grafana", "-o", "csv"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("this answer comes as json"));
  EXPECT_THAT(Telltale(operator_, {"token", "list"}).output, Not(HasSubstr("grafana")));
}

TEST_F(TokenTest, OnlyAnOperatorMay) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"token", "create", "--name", "x"},
                                             {"token", "list"},
                                             {"token", "revoke", "00000000"},
                                             {"audit"}}) {
    const ProgramRun run = Telltale(viewer_, command);
    EXPECT_EQ(run.exit_code, 4) << run.output;
    EXPECT_THAT(run.output, HasSubstr("only an operator"));
  }
  EXPECT_THAT(Telltale(operator_, {"audit"}).output, HasSubstr("viewer/ann"));
}

TEST_F(TokenTest, WhatMakesNoTokenIsSaidInOneLine) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"--role", "node"}, {"--expires", "500d"}, {"--expires", "soon"}}) {
    std::vector<std::string> command = {"token", "create", "--name", "x"};
    command.insert(command.end(), wrong.begin(), wrong.end());
    const ProgramRun run = Telltale(operator_, command);
    EXPECT_NE(run.exit_code, 0) << run.output;
    EXPECT_EQ(std::count(run.output.begin(), run.output.end(), '\n'), 1) << run.output;
  }
}

}  // namespace
}  // namespace telltale::testing
