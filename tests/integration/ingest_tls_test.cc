// Who gets in: a real collector, real TLS, certificates of every kind. And what a wrong start says.

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/collector_process.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/raw_agent.h"

namespace telltale::testing {
namespace {

class IngestTlsTest : public ::testing::Test {
 protected:
  IngestTlsTest()
      : pki_(scratch_.path(), "ca"),
        own_(pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")),
        node_(pki_.Issue("web-1", "URI:telltale://node/web-1")),
        collector_(scratch_.path() + "/data", pki_, own_) {}

  static v1::AgentMessage Epoch(uint64_t sequence) {
    static const uint64_t last = LastMinute();
    return Summary({}, sequence, BodyEnding(last - (100 - sequence) * 60 * kSecond));
  }

  grpc::Status Ended(const std::optional<IssuedFiles>& certificate,
                     const AgentIdentity& agent = {}) {
    RawAgent client(collector_.address(), pki_.ca(), certificate);
    client.Write(Hello(agent));
    client.Read();
    client.WritesDone();
    return client.Finish();
  }

  std::vector<std::string> Arguments(const std::string& data) const {
    return {"--listen-grpc", "127.0.0.1:0", "--listen-https", "127.0.0.1:0", "--data",    data,
            "--tls-ca",      pki_.ca(),     "--tls-cert",     own_.cert,     "--tls-key", own_.key};
  }
  static std::vector<std::string> Changed(std::vector<std::string> arguments,
                                          const std::string& flag, const std::string& value) {
    for (size_t i = 0; i + 1 < arguments.size(); ++i) {
      if (arguments[i] == flag) arguments[i + 1] = value;
    }
    return arguments;
  }

  TempDir scratch_;
  Pki pki_;
  const IssuedFiles own_;
  const IssuedFiles node_;
  CollectorProcess collector_;
};

TEST_F(IngestTlsTest, OnlyANodeGetsInAndOnlyAsItself) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  EXPECT_TRUE(Ended(node_).ok());

  const grpc::Status other_name = Ended(node_, {.node = "db-1"});
  EXPECT_EQ(other_name.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(other_name.error_message().find("certificate is for web-1"), std::string::npos);

  const grpc::Status viewer = Ended(pki_.Issue("viewer", "URI:telltale://viewer/ann"));
  EXPECT_EQ(viewer.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(viewer.error_message().find("viewer ann"), std::string::npos);

  const grpc::Status nameless = Ended(pki_.Issue("nameless", "DNS:web-1"));
  EXPECT_EQ(nameless.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  const grpc::Status twice =
      Ended(pki_.Issue("twice", "URI:telltale://node/web-1,URI:telltale://node/web-2"));
  EXPECT_EQ(twice.error_code(), grpc::StatusCode::UNAUTHENTICATED);

  // Refused in the handshake: no status of ours can reach them.
  EXPECT_EQ(Ended(std::nullopt).error_code(), grpc::StatusCode::UNAVAILABLE);
  Pki stranger(scratch_.path(), "stranger");
  EXPECT_EQ(Ended(stranger.Issue("fake", "URI:telltale://node/web-1")).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Ended(pki_.Issue("ended", "URI:telltale://node/web-1", -1)).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(IngestTlsTest, OlderTlsThan13IsRefused) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  const auto handshake = [&](const std::string& version) {
    const std::string command = "openssl s_client -connect " + collector_.address() + " " +
                                version + " -alpn h2 -CAfile " + pki_.ca() + " -cert " +
                                node_.cert + " -key " + node_.key + " </dev/null >/dev/null 2>&1";
    return std::system(command.c_str());
  };
  EXPECT_EQ(handshake("-tls1_3"), 0);
  EXPECT_NE(handshake("-tls1_2"), 0);
}

TEST_F(IngestTlsTest, ARevokedNodeLosesItsStreamAndGetsNoOther) {
  const std::string crl = pki_.Revoke({});
  ASSERT_TRUE(collector_.Start({"--tls-crl", crl})) << collector_.log();
  RawAgent open(collector_.address(), pki_.ca(), node_);
  open.Write(Hello({}));
  ASSERT_TRUE(open.Read().has_value());
  pki_.Revoke({node_});
  EXPECT_FALSE(open.Read().has_value());  // ends within seconds
  EXPECT_EQ(open.Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  const grpc::Status again = Ended(node_);
  EXPECT_EQ(again.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_NE(again.error_message().find("is revoked"), std::string::npos);
}

TEST_F(IngestTlsTest, ASummaryIsStoredAndATermSignalEndsTheStreamCleanly) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  RawAgent client(collector_.address(), pki_.ca(), node_);
  client.Write(Hello({}));
  client.Write(SchemaMessage());
  client.Write(Epoch(1));
  EXPECT_EQ(client.ReadVerdict()->kind(), v1::Verdict::STORED);
  client.Write(Epoch(1));
  EXPECT_EQ(client.ReadVerdict()->kind(), v1::Verdict::REPEAT);
  collector_.Signal(SIGTERM);
  EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(collector_.Stop(), 0) << collector_.log();
}

TEST_F(IngestTlsTest, WhatAnAgentSentBeforeItStoppedWritingIsAnswered) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  RawAgent client(collector_.address(), pki_.ca(), node_);
  client.Write(Hello({}));
  client.Write(SchemaMessage());
  for (uint64_t sequence = 1; sequence <= 20; ++sequence) client.Write(Epoch(sequence));
  client.WritesDone();
  int stored = 0;
  while (const auto verdict = client.ReadVerdict()) {
    stored += verdict->kind() == v1::Verdict::STORED ? 1 : 0;
  }
  EXPECT_EQ(stored, 20);
  EXPECT_TRUE(client.Finish().ok());
}

TEST_F(IngestTlsTest, AnOversizedMessageEndsOnlyItsStream) {
  ASSERT_TRUE(collector_.Start()) << collector_.log();
  {
    RawAgent client(collector_.address(), pki_.ca(), node_);
    client.Write(Hello({}));
    ASSERT_TRUE(client.Read().has_value());
    v1::AgentMessage message;
    message.mutable_summary()->set_body(std::string(2 << 20, 'x'));
    client.Write(message);
    EXPECT_EQ(client.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_TRUE(Ended(node_).ok());
}

TEST_F(IngestTlsTest, AWrongStartIsOneLineThatSaysWhatToDo) {
  const std::string data = scratch_.path() + "/other";
  const auto arguments = Arguments(data);
  const auto expect = [](const ProgramRun& run, const std::string& part) {
    EXPECT_GT(run.exit_code, 0);
    EXPECT_LT(run.exit_code, 100) << run.output;
    EXPECT_EQ(std::count(run.output.begin(), run.output.end(), '\n'), 1) << run.output;
    EXPECT_NE(run.output.find(part), std::string::npos) << run.output;
  };
  expect(RunCollector({"--frobnicate"}), "unknown argument --frobnicate");
  expect(RunCollector(Changed(arguments, "--tls-cert", "/nonexistent")),
         "cert /nonexistent cannot be read: No such file or directory");
  expect(RunCollector(Changed(arguments, "--tls-key", node_.key)),
         "does not belong to certificate");
  expect(RunCollector(Changed(arguments, "--tls-cert", own_.key)),
         "holds no readable PEM certificate");
  const IssuedFiles ended = pki_.Issue("ended", "DNS:localhost", -1);
  expect(
      RunCollector(Changed(Changed(arguments, "--tls-cert", ended.cert), "--tls-key", ended.key)),
      "is valid from");
  expect(RunCollector(Changed(arguments, "--data", "/proc/nothing")), "cannot be made");

  ASSERT_TRUE(collector_.Start()) << collector_.log();
  const std::string address = "127.0.0.1" + collector_.address().substr(9);
  expect(RunCollector(Changed(arguments, "--listen-grpc", address)), "Address already in use");
  expect(RunCollector(Arguments(scratch_.path() + "/data")), "another process holds");
}

TEST_F(IngestTlsTest, AHangupReloadsWhatCanBeAndNamesWhatCannot) {
  const std::string file = scratch_.path() + "/collector.yaml";
  std::ofstream(file) << "ingest: {spread: 1s, shards: 2}\n";
  ASSERT_TRUE(collector_.Start({"--config", file})) << collector_.log();
  RawAgent client(collector_.address(), pki_.ca(), node_);
  client.Write(Hello({}));
  EXPECT_EQ(client.Read()->welcome().settings().spread_s(), 1u);
  std::ofstream(file) << "ingest: {spread: 0s, shards: 1}\n";
  collector_.Signal(SIGHUP);
  EXPECT_EQ(client.Read()->settings().spread_s(), 0u);
  EXPECT_NE(collector_.log().find("ingest.shards cannot change while running"), std::string::npos)
      << collector_.log();
}

}  // namespace
}  // namespace telltale::testing
