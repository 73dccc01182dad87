// Certificates, authorities and revocation lists are replaced on disk while agents send: every
// epoch that was acknowledged is there once, and whoever is revoked loses what it has open.
// Connections have an age on both ports.

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "telltale/v1/query.pb.h"
#include "tests/support/collector_process.h"
#include "tests/support/https_client.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/program.h"
#include "tests/support/raw_agent.h"

namespace telltale::testing {
namespace {

void Replace(const std::string& file, const std::string& text) {
  std::ofstream(file + ".new") << text;
  std::filesystem::rename(file + ".new", file);
}

// An agent as far as this matters: one epoch under way at a time, sent again on a new stream until
// it is acknowledged.
class Sender {
 public:
  // `ca` is what it believes in, `own` what it shows; both are read again for each stream.
  Sender(std::string node, std::string address, std::string ca, IssuedFiles own)
      : agent_({.node = std::move(node)}),
        address_(std::move(address)),
        ca_(std::move(ca)),
        own_(std::move(own)),
        thread_([this] { Run(); }) {}
  ~Sender() { Stop(); }

  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  uint64_t acked() const { return acked_; }
  uint64_t streams() const { return streams_; }
  uint64_t refused() const { return refused_; }

 private:
  void Run() {
    while (!stop_) {
      RawAgent stream(address_, ca_, own_);
      stream.Write(Hello(agent_));
      const auto welcome = stream.Read();
      if (!welcome.has_value()) {
        refused_ += stream.Finish().error_code() == grpc::StatusCode::UNAUTHENTICATED ? 1 : 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        continue;
      }
      ++streams_;
      stream.Write(SchemaMessage());
      while (!stop_ && SendOne(stream)) {
      }
    }
  }
  bool SendOne(RawAgent& stream) {
    const uint64_t sequence = acked_ + 1;
    stream.Write(Summary(agent_, sequence,
                         BodyEnding(first_end_ns_ + sequence * 60 * kSecond, 1000 + sequence)));
    const auto verdict = stream.ReadVerdict();
    if (!verdict.has_value()) return false;
    // What was stored and not acknowledged before the connection ended is a repeat.
    if (verdict->kind() != v1::Verdict::STORED && verdict->kind() != v1::Verdict::REPEAT) {
      ADD_FAILURE() << verdict->DebugString();
      return false;
    }
    acked_ = sequence;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return true;
  }

  const AgentIdentity agent_;
  const std::string address_, ca_;
  const IssuedFiles own_;
  const uint64_t first_end_ns_ = LastMinute() - 5 * 86400 * kSecond;
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> acked_ = 0, streams_ = 0, refused_ = 0;
  std::thread thread_;
};

class RotationTest : public ::testing::Test {
 protected:
  RotationTest()
      : old_(scratch_.path(), "old"),
        fresh_(scratch_.path(), "fresh"),
        own_(old_.Issue("collector", "DNS:localhost,IP:127.0.0.1")),
        viewer_(old_.Issue("viewer", "URI:telltale://viewer/ann")),
        collector_(scratch_.path() + "/data", old_, own_),
        ca_of_agents_(scratch_.path() + "/agents-ca.crt") {
    Replace(ca_of_agents_, ReadAll(old_.ca()));
  }

  std::unique_ptr<HttpsClient> Https() const {
    const std::string ports = ReadAll(scratch_.path() + "/data/ports");
    return std::make_unique<HttpsClient>(HttpsClient::Options{
        .port = static_cast<uint16_t>(std::stoul(ports.substr(ports.find("https=") + 6))),
        .ca_file = ca_of_agents_,
        .client = viewer_});
  }
  v1::Node Node(const std::string& name) const {
    const HttpReply reply = Https()->Get("/api/v1/nodes", "Accept: application/x-protobuf\r\n");
    EXPECT_EQ(reply.status, 200);
    v1::NodesAnswer answer;
    EXPECT_TRUE(answer.ParseFromString(reply.body));
    for (const v1::Node& node : answer.nodes()) {
      if (node.name() == name) return node;
    }
    return {};
  }
  std::unique_ptr<Sender> Send(const std::string& node, const IssuedFiles& own) {
    return std::make_unique<Sender>(node, collector_.address(), ca_of_agents_, own);
  }
  // Until a stream that begins from now on has had an epoch acknowledged.
  static bool GoesOnWithANewStream(const Sender& sender) {
    const uint64_t streams = sender.streams();
    if (!Await([&] { return sender.streams() > streams; })) return false;
    const uint64_t acked = sender.acked();
    return Await([&] { return sender.acked() > acked; });
  }
  void ExpectEachOnce(const std::string& node, uint64_t acked) {
    const v1::Node answer = Node(node);
    // The last one may have been stored when its stream ended before that could be said.
    EXPECT_GE(answer.epochs_received(), acked) << node;
    EXPECT_LE(answer.epochs_received(), acked + 1) << node;
    EXPECT_EQ(answer.epochs_lost(), 0u) << node;
  }

  const TempDir scratch_;
  Pki old_, fresh_;
  const IssuedFiles own_;
  IssuedFiles viewer_;
  CollectorProcess collector_;
  const std::string ca_of_agents_;
};

TEST_F(RotationTest, LeafAuthorityAndListAreReplacedWithoutLosingAnEpoch) {
  const std::string crl = old_.Revoke({});
  ASSERT_TRUE(collector_.Start({"--tls-crl", crl, "--ingest-connection-age", "10s"}))
      << collector_.log();
  const IssuedFiles web = old_.Issue("web-1", "URI:telltale://node/web-1");
  const IssuedFiles bad = old_.Issue("web-2", "URI:telltale://node/web-2");
  const auto sender = Send("web-1", web);
  const auto revoked = Send("web-2", bad);
  ASSERT_TRUE(Await([&] { return sender->acked() > 5 && revoked->acked() > 5; }));

  // The leaf: same authority, other key.
  old_.Issue("collector", "DNS:localhost,IP:127.0.0.1");
  EXPECT_TRUE(GoesOnWithANewStream(*sender)) << collector_.log();

  // The authority, with both believed in while leaves are exchanged.
  const std::string both = ReadAll(old_.ca()) + ReadAll(fresh_.ca());
  Replace(ca_of_agents_, both);
  const std::string lists = ReadAll(crl);
  Replace(old_.ca(), both);
  ASSERT_TRUE(GoesOnWithANewStream(*sender)) << collector_.log();
  const IssuedFiles fresh_web = fresh_.Issue("web-1", "URI:telltale://node/web-1");
  const IssuedFiles fresh_own = fresh_.Issue("collector", "DNS:localhost,IP:127.0.0.1");
  EXPECT_EQ(fresh_web.cert, web.cert);
  EXPECT_EQ(fresh_own.cert, own_.cert);
  EXPECT_TRUE(GoesOnWithANewStream(*sender)) << collector_.log();

  // A revoked node's stream ends, and no other begins.
  old_.Revoke({bad});
  ASSERT_TRUE(Await([&] { return revoked->refused() > 2; })) << collector_.log();
  const uint64_t acked_of_revoked = revoked->acked();
  const uint64_t refused = revoked->refused();
  ASSERT_TRUE(Await([&] { return revoked->refused() > refused + 5; }));
  EXPECT_EQ(revoked->acked(), acked_of_revoked);

  // Only the new authority, and a list of its own before the collector believes in it alone.
  viewer_ = fresh_.Issue("viewer", "URI:telltale://viewer/ann");
  Replace(crl, ReadAll(fresh_.Revoke({})));
  Replace(old_.ca(), ReadAll(fresh_.ca()));
  Replace(ca_of_agents_, ReadAll(fresh_.ca()));
  EXPECT_TRUE(GoesOnWithANewStream(*sender)) << collector_.log();

  sender->Stop();
  revoked->Stop();
  ExpectEachOnce("web-1", sender->acked());
  ExpectEachOnce("web-2", revoked->acked());
}

TEST_F(RotationTest, AListThatComesBeforeItsAuthorityHoldsOnceThatIsThere) {
  const std::string crl = old_.Revoke({});
  ASSERT_TRUE(collector_.Start({"--tls-crl", crl})) << collector_.log();
  const IssuedFiles gone = fresh_.Issue("web-1", "URI:telltale://node/web-1");
  const std::string list = ReadAll(fresh_.Revoke({gone}));
  Replace(crl, list);
  ASSERT_TRUE(Await([&] {
    return collector_.log().find("is not signed by an authority") != std::string::npos;
  })) << collector_.log();
  Replace(old_.ca(), ReadAll(old_.ca()) + ReadAll(fresh_.ca()));
  const auto sender = Send("web-1", gone);
  EXPECT_TRUE(Await([&] { return sender->refused() > 0; })) << collector_.log();
}

TEST_F(RotationTest, AListThatBecomesOutdatedStaysInForceAndIsSaidOnce) {
  const IssuedFiles gone = old_.Issue("web-1", "URI:telltale://node/web-1");
  const auto said = [this](const std::string& what) {
    const std::string log = collector_.log();
    size_t count = 0;
    for (size_t at = 0; (at = log.find(what, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const auto warnings = [&said] { return said("is outdated"); };
  const auto due_s = [this] {
    const std::string name = "\ntelltale_tls_crl_next_update_timestamp_seconds ";
    const std::string page = Https()->Get("/metrics").body;
    const size_t at = page.find(name);
    return at == std::string::npos ? 0 : std::stoll(page.substr(at + name.size()));
  };
  const std::string crl = old_.Revoke({gone}, 5);
  ASSERT_TRUE(collector_.Start({"--tls-crl", crl})) << collector_.log();
  ASSERT_TRUE(Await([&] { return warnings() == 1; })) << collector_.log();
  EXPECT_NEAR(static_cast<double>(due_s()), static_cast<double>(std::time(nullptr)), 60);
  const auto sender = Send("web-1", gone);
  EXPECT_TRUE(Await([&] { return sender->refused() > 0; })) << collector_.log();
  // It looks every second.
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_EQ(warnings(), 1u) << collector_.log();

  old_.Revoke({gone}, 3600);
  ASSERT_TRUE(Await([&] { return said("are revoked") == 1; })) << collector_.log();
  EXPECT_GT(due_s(), std::time(nullptr) + 1800);
  EXPECT_EQ(warnings(), 1u) << collector_.log();
  old_.Revoke({gone}, -60);
  ASSERT_TRUE(Await([&] { return warnings() == 2; })) << collector_.log();
}

TEST_F(RotationTest, ConnectionsHaveAnAge) {
  ASSERT_TRUE(collector_.Start({"--ingest-connection-age", "10s"})) << collector_.log();
  const auto sender = Send("web-1", old_.Issue("web-1", "URI:telltale://node/web-1"));
  const auto https = Https();
  // Asked often enough that it never is idle.
  size_t answers = 0;
  ASSERT_TRUE(Await([&] {
    if (https->Get("/healthz").status != 200) return true;
    ++answers;
    return false;
  })) << "the HTTPS connection never ended";
  EXPECT_GT(answers, 10u);
  EXPECT_TRUE(Await([&] { return sender->streams() > 1; })) << "the gRPC connection never ended";
}

}  // namespace
}  // namespace telltale::testing
