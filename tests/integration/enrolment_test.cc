// Nodes come to certificates from a real collector: by token, by hand, two hundred at once; they
// renew them while they report; what hostile ones try; and how it ends for one that is revoked.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "agent/enroll/enroll_client.h"
#include "agent/enroll/enroll_command.h"
#include "agent/enroll/node_key.h"
#include "agent/uplink/tls.h"
#include "telltale/v1/enroll.grpc.pb.h"
#include "telltale/v1/query.grpc.pb.h"
#include "tests/support/agent_process.h"
#include "tests/support/collector_process.h"
#include "tests/support/https_client.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kAtOnce = 200;
constexpr int kSeconds = 120;  // for what takes half a minute

class EnrolmentTest : public ::testing::Test {
 protected:
  EnrolmentTest() : dir_(scratch_.path() + "/pki"), collector_(Made()) {}

  // As the documents say: a root, an authority below it for the collector, and two certificates.
  CollectorProcess Made() const {
    const auto pki = [&](std::vector<std::string> words) {
      words.insert(words.begin(), "pki");
      words.insert(words.begin() + 2, {"--dir", dir_});
      const ProgramRun run = RunTelltale(words);
      EXPECT_EQ(run.exit_code, 0) << run.output;
    };
    pki({"init"});
    pki({"issuing"});
    pki({"issue", "--role", "collector", "--name", "collector", "--dns", "localhost", "--ip",
         "127.0.0.1"});
    pki({"issue", "--role", "operator", "--name", "olga"});
    pki({"issue", "--role", "viewer", "--name", "ann"});
    pki({"revoke", "--issuing", "--serial", "01"});  // makes the list
    return CollectorProcess(scratch_.path() + "/data", dir_ + "/ca.crt",
                            {dir_ + "/collector-collector.crt", dir_ + "/collector-collector.key"});
  }
  bool Start(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--listen-enroll", "127.0.0.1:0", "--enroll-ca-cert",
                             dir_ + "/issuing.crt", "--enroll-ca-key", dir_ + "/issuing.key",
                             "--tls-crl", dir_ + "/crl.pem", "--ingest-spread", "0s"});
    return collector_.Start(more);
  }
  ProgramRun Telltale(std::vector<std::string> words, const std::string& who = "operator-olga") {
    const std::string own = dir_ + "/" + who;
    words.insert(words.end(), {"--collector", collector_.address(), "--ca", dir_ + "/ca.crt",
                               "--cert", own + ".crt", "--key", own + ".key"});
    return RunTelltale(words);
  }
  nlohmann::json List() {
    return nlohmann::json::parse(Telltale({"enroll", "list", "-o", "json"}).output, nullptr, false);
  }
  // The secret; what the node needs besides goes into hash_.
  std::string Token(const std::string& pattern, int uses = 1) {
    const ProgramRun run = Telltale(
        {"enroll", "token", "--node", pattern, "--uses", std::to_string(uses), "-o", "json"});
    const auto json = nlohmann::json::parse(run.output, nullptr, false);
    if (!json.is_object()) {
      ADD_FAILURE() << run.output;
      return "";
    }
    hash_ = "sha256:" + json["authoritySha256"].get<std::string>();
    return json["secret"];
  }
  IssuedFiles FilesOf(const std::string& node) const {
    const std::string base = scratch_.path() + "/" + node + "/node";
    return {base + ".crt", base + ".key"};
  }
  std::vector<std::string> Flags(const std::string& node) const {
    const IssuedFiles files = FilesOf(node);
    return {"enroll",
            "--collector",
            collector_.address(),
            "--enroll-collector",
            collector_.enroll_address(),
            "--ca-hash",
            hash_,
            "--node",
            node,
            "--tls-ca",
            scratch_.path() + "/" + node + "/ca.crt",
            "--tls-cert",
            files.cert,
            "--tls-key",
            files.key};
  }
  AgentRun Enroll(const std::string& node, const std::vector<std::string>& more) const {
    std::filesystem::create_directories(scratch_.path() + "/" + node);
    std::vector<std::string> flags = Flags(node);
    flags.insert(flags.end(), more.begin(), more.end());
    return RunAgent(scratch_.path() + "/" + node, flags);
  }

  const TempDir scratch_;
  const std::string dir_;
  CollectorProcess collector_;
  std::string hash_;
};

TEST_F(EnrolmentTest, ANodeEnrolsReportsAndRenewsWithoutLosingAnEpochUntilItIsRevoked) {
  ASSERT_TRUE(Start({"--enroll-validity", "40s", "--ingest-connection-age", "10s"}))
      << collector_.log();
  const AgentRun enrolled = Enroll("db-1", {"--token", Token("db-1")});
  ASSERT_EQ(enrolled.exit_code, 0) << enrolled.output;
  EXPECT_THAT(enrolled.output, HasSubstr("enrolled as db-1 until "));
  AgentProcess agent(scratch_.path(), "db-1", scratch_.path() + "/db-1/ca.crt", FilesOf("db-1"));
  agent.Start(collector_.address());
  const auto stored = [&] {
    const auto status = agent.Status();
    return status.is_object() ? status["uplink"]["stored"].get<uint64_t>() : 0;
  };
  EXPECT_TRUE(
      Await([&] { return agent.Logged("renewal: db-1 has a certificate until") >= 1; }, kSeconds))
      << agent.log();
  const uint64_t before = stored();
  EXPECT_TRUE(Await([&] { return stored() >= before + 2; }, kSeconds)) << agent.log();
  const auto nodes = nlohmann::json::parse(Telltale({"nodes", "-o", "json"}).output);
  EXPECT_EQ(nodes["nodes"].size(), 1u);
  EXPECT_EQ(nodes["nodes"][0].value("epochsLost", 0), 0) << nodes;

  // Its latest certificate, and it cannot renew with it either.
  std::string revoked;
  EXPECT_TRUE(Await(
      [&] {
        if (agent.Logged("is revoked") + agent.Logged("was revoked") > 0) return true;
        const std::string serial = List()["certificates"][0]["serial"];
        if (serial == revoked) return false;  // else it renewed meanwhile
        revoked = serial;
        const ProgramRun run =
            RunTelltale({"pki", "revoke", "--dir", dir_, "--issuing", "--serial", serial});
        EXPECT_EQ(run.exit_code, 0) << run.output;
        return false;
      },
      kSeconds))
      << agent.log() << collector_.log();
  EXPECT_THAT(Telltale({"audit"}).output, HasSubstr("renew"));
}

TEST_F(EnrolmentTest, OneCommandRevokesANodeUntilItEnrolsAnew) {
  ASSERT_TRUE(Start()) << collector_.log();
  ASSERT_EQ(Enroll("db-1", {"--token", Token("db-1")}).exit_code, 0);
  const agent::TlsFiles files = {scratch_.path() + "/db-1/ca.crt", FilesOf("db-1").cert,
                                 FilesOf("db-1").key};
  const auto stolen = agent::ReadTlsFiles(files, time(nullptr));
  ASSERT_TRUE(stolen.ok()) << stolen.status();
  AgentProcess agent(scratch_.path(), "db-1", files.ca, FilesOf("db-1"));
  agent.Start(collector_.address());
  const auto stored = [&] {
    auto nodes = nlohmann::json::parse(Telltale({"nodes", "-o", "json"}).output)["nodes"];
    return nodes.empty() ? 0 : nodes[0].value("epochsReceived", 0);
  };
  ASSERT_TRUE(Await([&] { return stored() >= 1; }, kSeconds)) << agent.log();

  EXPECT_EQ(Telltale({"enroll", "revoke", "db-1"}, "viewer-ann").exit_code, 4);
  EXPECT_THAT(Telltale({"enroll", "revoke", "db-2"}).output, HasSubstr("db-1"));  // was it meant?
  const ProgramRun run = Telltale({"enroll", "revoke", "db-1"});
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("db-1 is revoked"));
  // The stream that was open ended, at once; no other begins.
  const int received = stored();
  EXPECT_TRUE(Await([&] { return agent.Logged("was revoked") >= 1; }, kSeconds)) << agent.log();
  EXPECT_TRUE(Await([&] { return agent.Logged("of node db-1 is revoked") >= 1; }, kSeconds))
      << agent.log();
  const auto renew = [&] {
    const auto key = agent::MakeNodeKey();
    return agent::AskToRenew({collector_.address(), ""}, *stolen, key->signing_request).status();
  };
  EXPECT_EQ(renew().code(), absl::StatusCode::kUnauthenticated) << renew();
  EXPECT_THAT(Telltale({"enroll", "list"}).output, HasSubstr("REVOKED by olga"));
  EXPECT_THAT(Telltale({"audit"}).output, HasSubstr("enroll revoke"));
  EXPECT_THAT(Telltale({"audit"}).output, HasSubstr("node/db-1"));
  EXPECT_THAT(Telltale({"enroll", "revoke", "db-1"}).output, HasSubstr("was revoked before"));

  // The collector remembers.
  ASSERT_EQ(collector_.Stop(), 0) << collector_.log();
  ASSERT_TRUE(Start()) << collector_.log();
  EXPECT_EQ(renew().code(), absl::StatusCode::kUnauthenticated) << renew();
  EXPECT_EQ(stored(), received);

  // The machine is in good hands again; whoever kept a copy of its certificate is not it.
  const AgentRun anew = Enroll("db-1", {"--again", "--token", Token("db-1")});
  ASSERT_EQ(anew.exit_code, 0) << anew.output;
  EXPECT_EQ(agent.Stop(), 0) << agent.log();
  agent.Start(collector_.address());
  EXPECT_TRUE(Await([&] { return stored() > received; }, kSeconds)) << agent.log();
  EXPECT_EQ(renew().code(), absl::StatusCode::kUnauthenticated) << renew();
}

// Whoever stole its key signs serial numbers that are on no list.
TEST_F(EnrolmentTest, WhatARevokedIssuingAuthoritySignedCountsNoMoreUntilTheNodeEnrolsAnew) {
  ASSERT_TRUE(Start()) << collector_.log();
  ASSERT_EQ(Enroll("db-1", {"--token", Token("db-1")}).exit_code, 0);
  const std::string ca = scratch_.path() + "/db-1/ca.crt";
  AgentProcess agent(scratch_.path(), "db-1", ca, FilesOf("db-1"));
  agent.Start(collector_.address());
  const auto stored = [&] {
    auto nodes = nlohmann::json::parse(Telltale({"nodes", "-o", "json"}).output)["nodes"];
    return nodes.empty() ? 0 : nodes[0].value("epochsReceived", 0);
  };
  ASSERT_TRUE(Await([&] { return stored() >= 1; }, kSeconds)) << agent.log();
  const auto https = [&] {
    HttpsClient client({.port = collector_.https_port(), .ca_file = ca, .client = FilesOf("db-1")});
    return client.Get("/api/v1/nodes").body;
  };
  EXPECT_THAT(https(), HasSubstr("node"));
  EXPECT_THAT(https(), Not(HasSubstr("revoked")));

  const auto pki = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "pki");
    words.insert(words.begin() + 2, {"--dir", dir_});
    return RunTelltale(words);
  };
  ASSERT_EQ(pki({"revoke", "--cert", dir_ + "/issuing.crt"}).exit_code, 0);
  EXPECT_TRUE(Await([&] { return agent.Logged("was revoked") >= 1; }, kSeconds)) << agent.log();
  EXPECT_TRUE(Await([&] { return agent.Logged("its authority's serial") >= 1; }, kSeconds))
      << agent.log();
  const int received = stored();
  EXPECT_THAT(https(), HasSubstr("its authority's serial"));
  EXPECT_EQ(Telltale({"nodes"}).exit_code, 0) << "the root signed the operator";

  const ProgramRun anew = pki({"issuing", "--force"});
  ASSERT_EQ(anew.exit_code, 0) << anew.output;
  EXPECT_THAT(anew.output, HasSubstr("signed its list"));
  ASSERT_TRUE(Await([&] {
    return collector_.log().find("certificates are revoked") !=
           collector_.log().rfind("certificates are revoked");
  })) << collector_.log();
  ASSERT_EQ(Enroll("db-1", {"--again", "--token", Token("db-1")}).exit_code, 0);
  EXPECT_EQ(agent.Stop(), 0) << agent.log();
  agent.Start(collector_.address());
  EXPECT_TRUE(Await([&] { return stored() > received; }, kSeconds)) << agent.log();
  ASSERT_EQ(collector_.Stop(), 0) << collector_.log();
  EXPECT_TRUE(Start()) << "what the former authority had revoked is signed by the new one\n"
                       << collector_.log();
}

TEST_F(EnrolmentTest, TwoHundredEnrolAtOnce) {
  ASSERT_TRUE(Start()) << collector_.log();
  // One use is left for whoever stole the token.
  const std::string token = Token("node-*", kAtOnce + 1);
  agent::QuietGrpc();
  const auto enroll = [&](const std::string& node, const std::string& folder) {
    const IssuedFiles files = FilesOf(folder);
    agent::Config config;
    config.collector = collector_.address();
    config.enroll_collector = collector_.enroll_address();
    config.tls_ca = scratch_.path() + "/" + folder + "/ca.crt";
    config.tls_cert = files.cert;
    config.tls_key = files.key;
    agent::EnrollFlags flags;
    flags.token = token;
    flags.ca_hash = hash_;
    flags.node = node;
    flags.wait = "2min";
    return agent::EnrollNode(config, flags, std::nullopt, [](const std::string&) {});
  };
  std::atomic<int> enrolled = 0;
  std::vector<std::thread> threads;
  std::vector<std::string> troubles(kAtOnce);
  for (int i = 0; i < kAtOnce; ++i) {
    threads.emplace_back([&, i] {
      const std::string node = "node-" + std::to_string(i);
      const IssuedFiles files = FilesOf(node);
      const auto said = enroll(node, node);
      if (said.ok() &&
          agent::ReadNodeName({scratch_.path() + "/" + node + "/ca.crt", files.cert, files.key})
                  .value_or("") == node) {
        ++enrolled;
      } else {
        troubles[static_cast<size_t>(i)] = said.status().ToString();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(enrolled, kAtOnce) << ::testing::PrintToString(troubles);
  const auto list = List();
  EXPECT_EQ(list["certificates"].size(), static_cast<size_t>(kAtOnce));
  EXPECT_EQ(list["tokens"][0]["used"], kAtOnce);

  const auto taken_over = enroll("node-7", "thief");
  EXPECT_EQ(taken_over.status().code(), absl::StatusCode::kPermissionDenied) << taken_over.status();
  const auto elsewhere = enroll("db-1", "thief");
  EXPECT_EQ(elsewhere.status().code(), absl::StatusCode::kPermissionDenied) << elsewhere.status();
  EXPECT_EQ(List()["tokens"][0]["used"], kAtOnce);
  EXPECT_EQ(Enroll("node-last", {"--token", token}).exit_code, 0);
  const AgentRun late = Enroll("node-late", {"--token", token});
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_THAT(late.output, HasSubstr("is used up"));
}

TEST_F(EnrolmentTest, ARequestThatIsSentAgainAndATokenThatWasUsedBringAThiefNothing) {
  ASSERT_TRUE(Start()) << collector_.log();
  v1::EnrollRequest request;
  request.set_node("web-1");
  request.set_token(Token("web-1"));
  request.set_signing_request(agent::MakeNodeKey()->signing_request);
  const agent::EnrollServer server = {collector_.enroll_address(), ""};
  agent::QuietGrpc();
  const auto authority = agent::FetchAuthority(server, hash_.substr(7));
  ASSERT_TRUE(authority.ok()) << authority.status();
  const auto first = agent::AskToEnroll(server, *authority, request);
  ASSERT_TRUE(first.ok()) << first.status();

  // Whoever sends it once more gets the certificate of a key that he does not have.
  const auto again = agent::AskToEnroll(server, *authority, request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->issued().certificate_pem(), first->issued().certificate_pem());
  // With a key of his own the token is used up, for this name and any other.
  request.set_signing_request(agent::MakeNodeKey()->signing_request);
  for (const char* node : {"web-1", "web-2"}) {
    request.set_node(node);
    EXPECT_EQ(agent::AskToEnroll(server, *authority, request).status().code(),
              absl::StatusCode::kUnauthenticated)
        << node;
  }
  const auto list = List();
  EXPECT_EQ(list["certificates"].size(), 1u) << list;
  EXPECT_EQ(list["tokens"][0]["used"], 1) << list;
  EXPECT_THAT(Telltale({"audit"}).output, HasSubstr("REFUSED enroll"));
}

TEST_F(EnrolmentTest, AnOperatorApprovesAndDeniesByHand) {
  ASSERT_TRUE(Start({"--enroll-by-hand", "true"})) << collector_.log();
  (void)Token("x");  // for the digest
  for (const bool approve : {true, false}) {
    const std::string node = approve ? "web-1" : "web-2";
    AgentRun run;
    std::thread waits([&] { run = Enroll(node, {"--wait", "2min"}); });
    std::string id;
    EXPECT_TRUE(Await([&] {
      const auto list = List();
      for (const auto& waiting : list["waiting"]) {
        if (waiting["node"] == node && waiting["state"] == "waiting") id = waiting["id"];
      }
      return !id.empty();
    }));
    EXPECT_EQ(Telltale({"enroll", approve ? "approve" : "deny", id}).exit_code, 0);
    waits.join();
    EXPECT_EQ(run.exit_code, approve ? 0 : 1) << run.output;
    EXPECT_THAT(run.output, HasSubstr("waits for an operator: telltale enroll approve " + id));
    EXPECT_THAT(run.output,
                HasSubstr(approve ? "enrolled as web-1" : "was denied by operator/olga"));
  }
  EXPECT_THAT(Telltale({"audit"}).output, HasSubstr("enroll approve"));
}

TEST_F(EnrolmentTest, TheOpenPortGivesStrangersNothing) {
  ASSERT_TRUE(Start()) << collector_.log();
  const std::string token = Token("web-1");
  const agent::EnrollServer server = {collector_.enroll_address(), ""};
  agent::QuietGrpc();

  // An agent that is led to another collector says nothing to it.
  const std::string right = hash_;
  hash_ = "sha256:" + std::string(64, 'a');
  const AgentRun misled = Enroll("web-1", {"--token", token});
  EXPECT_EQ(misled.exit_code, 1);
  EXPECT_THAT(misled.output, HasSubstr("nothing was told to it"));
  hash_ = right;
  EXPECT_EQ(List()["tokens"][0]["used"], 0);

  // Only enrolment answers there.
  const auto authority = agent::FetchAuthority(server, right.substr(7));
  ASSERT_TRUE(authority.ok()) << authority.status();
  const auto channel =
      grpc::CreateChannel(server.address, agent::MakeNamelessCredentials(*authority));
  const auto deadline = [](grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  };
  {
    grpc::ClientContext context;
    deadline(context);
    v1::StatusAnswer answer;
    EXPECT_EQ(
        v1::Query::NewStub(channel)->GetStatus(&context, v1::StatusRequest(), &answer).error_code(),
        grpc::StatusCode::UNIMPLEMENTED);
  }
  // Too much ends the connection before it is read.
  v1::EnrollRequest request;
  request.set_node("web-1");
  request.set_token(std::string(1 << 20, 'x'));
  EXPECT_EQ(agent::AskToEnroll(server, *authority, request).status().code(),
            absl::StatusCode::kUnavailable);
  request.set_token(token);
  request.set_signing_request("not one");
  EXPECT_EQ(agent::AskToEnroll(server, *authority, request).status().code(),
            absl::StatusCode::kInvalidArgument);
  // Without a token nobody waits, as no operator said that they may; guesses end at a limit.
  request.clear_token();
  absl::StatusCode code = absl::StatusCode::kOk;
  int refused = 0;
  for (; refused < 5000 && code != absl::StatusCode::kResourceExhausted; ++refused) {
    grpc::ClientContext context;
    deadline(context);
    v1::EnrollAnswer answer;
    code = static_cast<absl::StatusCode>(
        v1::Enroll::NewStub(channel)->Enroll(&context, request, &answer).error_code());
    if (refused == 0) {
      EXPECT_EQ(code, absl::StatusCode::kUnauthenticated);
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_EQ(code, absl::StatusCode::kResourceExhausted);

  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"enroll", "token", "--node", "x"},
                                             {"enroll", "list"},
                                             {"enroll", "approve", "00000000"},
                                             {"enroll", "revoke", "web-1"},
                                             {"enroll", "revoke", "--token", "00000000"}}) {
    EXPECT_EQ(Telltale(words, "viewer-ann").exit_code, 4) << words[1];
  }
  // Who stole the issuing key makes nodes, and no operators.
  const std::string stolen = scratch_.path() + "/stolen";
  std::filesystem::create_directory(stolen);
  for (const char* end : {".crt", ".key"}) {
    std::filesystem::copy_file(dir_ + "/issuing" + end, stolen + "/ca" + end);
  }
  const ProgramRun made = RunTelltale(
      {"pki", "issue", "--dir", stolen, "--role", "operator", "--name", "eve", "--days", "10"});
  ASSERT_EQ(made.exit_code, 0) << made.output;
  std::ofstream(dir_ + "/eve.crt")
      << ReadAll(stolen + "/operator-eve.crt") << ReadAll(stolen + "/ca.crt");
  std::filesystem::copy_file(stolen + "/operator-eve.key", dir_ + "/eve.key");
  EXPECT_NE(Telltale({"nodes"}, "eve").exit_code, 0);

  EXPECT_THAT(Telltale({"audit"}).output, HasSubstr("REFUSED enroll"));
  EXPECT_THAT(collector_.log(), Not(HasSubstr(token.substr(16))));
}

}  // namespace
}  // namespace telltale::testing
