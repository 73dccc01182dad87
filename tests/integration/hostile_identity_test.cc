// Who may not come in, and who may not do what: certificates of every wrong kind on both ports.

#include <grpcpp/grpcpp.h>

#include <ctime>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "telltale/v1/incident.grpc.pb.h"
#include "telltale/v1/operate.grpc.pb.h"
#include "telltale/v1/query.grpc.pb.h"
#include "telltale/v1/watch.grpc.pb.h"
#include "tests/integration/hostile_rig.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/program.h"

namespace telltale::testing {
namespace {

class HostileIdentityTest : public HostileTest {
 protected:
  HostileIdentityTest() {
    crl_ = pki_.Revoke({});
    more_arguments_ = {"--tls-crl", crl_};
  }

  std::shared_ptr<grpc::Channel> Channel(const std::optional<IssuedFiles>& certificate) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadAll(pki_.ca());
    if (certificate.has_value()) {
      options.pem_cert_chain = ReadAll(certificate->cert);
      options.pem_private_key = ReadAll(certificate->key);
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(collector_.address(), grpc::SslCredentials(options),
                                     arguments);
  }
  static void Bound(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  }

  // How a stream with this certificate ends that greets and sends a summary.
  grpc::Status Written(const std::optional<IssuedFiles>& certificate) {
    RawAgent stream(collector_.address(), pki_.ca(), certificate);
    stream.Write(AttackersHello());
    stream.Write(SchemaMessage());
    stream.Write(Message(NextSummary()));
    stream.WritesDone();
    return stream.Finish();
  }
  grpc::Status Asked(const std::optional<IssuedFiles>& certificate) const {
    grpc::ClientContext context;
    Bound(context);
    v1::NodesAnswer answer;
    const grpc::Status status =
        v1::Query::NewStub(Channel(certificate))->ListNodes(&context, {}, &answer);
    EXPECT_EQ(answer.nodes_size(), 0);
    return status;
  }
  grpc::Status Decided(const IssuedFiles& certificate) const {
    grpc::ClientContext context;
    Bound(context);
    v1::KeepRequest request;
    request.set_node("db-1");
    request.set_agent("0000");
    v1::KeepAnswer answer;
    return v1::Operate::NewStub(Channel(certificate))->KeepAgent(&context, request, &answer);
  }
  int Read(const std::optional<IssuedFiles>& certificate, int max_tls_version = 0) const {
    const auto client = Https(certificate, max_tls_version);
    return client->Get("/api/v1/nodes").status;
  }

  std::string crl_;
};

using grpc::StatusCode;

TEST_F(HostileIdentityTest, Handshakes) {
  const IssuedFiles stranger = stranger_.Issue("fake", "URI:telltale://operator/olga");
  const IssuedFiles expired = pki_.Issue("expired", "URI:telltale://node/web-1", -1);
  Attack("gRPC: no certificate",
         [&] { EXPECT_EQ(Written(std::nullopt).error_code(), StatusCode::UNAVAILABLE); });
  Attack("gRPC: certificate of another authority",
         [&] { EXPECT_EQ(Written(stranger).error_code(), StatusCode::UNAVAILABLE); });
  Attack("gRPC: expired certificate",
         [&] { EXPECT_EQ(Written(expired).error_code(), StatusCode::UNAVAILABLE); });
  Attack("gRPC: TLS 1.2", [&] {
    const std::string command = "openssl s_client -tls1_2 -alpn h2 -connect " +
                                collector_.address() + " -cert " + attacker_.cert + " -key " +
                                attacker_.key + " </dev/null >/dev/null 2>&1";
    EXPECT_NE(std::system(command.c_str()), 0);
  });
  Attack("gRPC: not TLS", [&] { Raw(grpc_port(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); });
  Attack("gRPC: bytes that are nothing",
         [&] { Raw(grpc_port(), std::string(100, '\x17') + std::string(100, 'x')); });

  Attack("HTTPS: no certificate", [&] { EXPECT_EQ(Read(std::nullopt), 401); });
  Attack("HTTPS: certificate of another authority", [&] { EXPECT_EQ(Read(stranger), 0); });
  Attack("HTTPS: expired certificate",
         [&] { EXPECT_EQ(Read(pki_.Issue("late", "URI:telltale://viewer/ann", -1)), 0); });
  Attack("HTTPS: TLS 1.2", [&] { EXPECT_EQ(Read(viewer_, TLS1_2_VERSION), 0); });
  Attack("HTTPS: not TLS", [&] {
    EXPECT_EQ(Raw(https_port(), "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n").find("HTTP/1.1 200"),
              std::string::npos);
  });
}

TEST_F(HostileIdentityTest, Revoked) {
  const IssuedFiles asker = pki_.Issue("gone", "URI:telltale://viewer/gone");
  const auto open = Https(asker), stream = Https(asker);
  EXPECT_EQ(open->Get("/api/v1/nodes").status, 200);
  stream->Send("GET /api/v1/incidents/follow HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(stream->ReadHeader().status, 200);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(120));
  const auto stub = v1::Query::NewStub(Channel(asker));
  const auto followed = stub->FollowAnomalies(&context, {});
  v1::Anomaly anomaly;
  EXPECT_TRUE(followed->Read(&anomaly)) << "the greeting";
  pki_.Revoke({attacker_, asker});
  ASSERT_TRUE(
      Await([&] { return Written(attacker_).error_code() == StatusCode::UNAUTHENTICATED; }));
  ASSERT_TRUE(Await([&] { return Read(asker) == 401; }));
  EXPECT_EQ(open->Get("/api/v1/nodes").status, 401);
  EXPECT_FALSE(followed->Read(&anomaly));
  EXPECT_EQ(followed->Finish().error_code(), StatusCode::UNAUTHENTICATED);
  while (!stream->ReadChunk().empty()) {
  }
  EXPECT_TRUE(stream->Closed());
  Attack("gRPC: revoked node",
         [&] { EXPECT_EQ(Written(attacker_).error_code(), StatusCode::UNAUTHENTICATED); });
  Attack("gRPC: revoked viewer",
         [&] { EXPECT_EQ(Asked(asker).error_code(), StatusCode::UNAUTHENTICATED); });
  Attack("HTTPS: revoked viewer", [&] { EXPECT_EQ(Read(asker), 401); });
}

TEST_F(HostileIdentityTest, Roles) {
  Attack("a viewer writes",
         [&] { EXPECT_EQ(Written(viewer_).error_code(), StatusCode::PERMISSION_DENIED); });
  Attack("an operator writes",
         [&] { EXPECT_EQ(Written(operator_).error_code(), StatusCode::PERMISSION_DENIED); });
  Attack("a certificate with two identities writes", [&] {
    const IssuedFiles two = pki_.Issue("two", "URI:telltale://node/web-1,URI:telltale://node/db-1");
    EXPECT_EQ(Written(two).error_code(), StatusCode::UNAUTHENTICATED);
  });
  Attack("a certificate without identity writes", [&] {
    EXPECT_EQ(Written(pki_.Issue("none", "DNS:db-1")).error_code(), StatusCode::UNAUTHENTICATED);
  });
  Attack("a node reads, gRPC",
         [&] { EXPECT_EQ(Asked(attacker_).error_code(), StatusCode::PERMISSION_DENIED); });
  Attack("a node reads, HTTPS", [&] { EXPECT_EQ(Read(attacker_), 403); });
  Attack("a node decides",
         [&] { EXPECT_EQ(Decided(attacker_).error_code(), StatusCode::PERMISSION_DENIED); });
  Attack("a viewer decides",
         [&] { EXPECT_EQ(Decided(viewer_).error_code(), StatusCode::PERMISSION_DENIED); });
  Attack("a node uploads", [&] {
    grpc::ClientContext context;
    Bound(context);
    v1::UploadResult result;
    const auto stub = v1::Ingest::NewStub(Channel(attacker_));
    const auto writer = stub->Upload(&context, &result);
    v1::Chunk chunk;
    chunk.set_data(std::string(60'000, 'x'));
    for (int i = 0; i < 100 && writer->Write(chunk); ++i) {
    }
    EXPECT_EQ(writer->Finish().error_code(), StatusCode::UNIMPLEMENTED);
  });
}

TEST_F(HostileIdentityTest, ARunOverMoreThanMayBeIsCountedAsTooLarge) {
  grpc::ClientContext context;
  Bound(context);
  v1::RunFilterRequest request;
  request.set_name("ewma");
  request.mutable_selection()->set_start_s(1);
  request.mutable_selection()->set_end_s(2e9);
  v1::RunFilterAnswer answer;
  const grpc::Status status =
      v1::Watch::NewStub(Channel(viewer_))->RunFilter(&context, request, &answer);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_EQ(Counted("telltale_grpc_refused_total{reason=\"too_large\"}"), 1u);
}

TEST_F(HostileIdentityTest, OrdersThatSayTooLittleOrAreTooManyAreCounted) {
  const auto stub = v1::Incidents::NewStub(Channel(operator_));
  const auto silence = [&](const std::string& node) {
    grpc::ClientContext context;
    Bound(context);
    v1::AddSilenceRequest request;
    request.set_node(node);
    request.set_until_s(static_cast<double>(std::time(nullptr)) + 3600);
    request.set_reason("planned work");
    v1::AddSilenceAnswer answer;
    return stub->AddSilence(&context, request, &answer).error_code();
  };
  EXPECT_EQ(silence(""), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Counted("telltale_grpc_refused_total{reason=\"parameter\"}"), 1u);
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(silence(absl::StrCat("db-", i)), StatusCode::OK);
  }
  EXPECT_EQ(silence("one-too-many"), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Counted("telltale_grpc_refused_total{reason=\"no_room\"}"), 1u);
}

TEST_F(HostileIdentityTest, AsAnother) {
  Attack("a node says Hello as another", [&] {
    RawAgent stream(collector_.address(), pki_.ca(), attacker_);
    v1::AgentMessage hello = AttackersHello();
    hello.mutable_hello()->mutable_node_info()->set_node("db-1");
    stream.Write(hello);
    EXPECT_EQ(stream.Finish().error_code(), StatusCode::PERMISSION_DENIED);
  });
  Attack("a node writes as another", [&] {
    const auto stream = Stream();
    v1::Summary summary = NextSummary();
    summary.mutable_identity()->set_node("db-1");
    EXPECT_EQ(VerdictOn(*stream, summary)->kind(), v1::Verdict::REFUSED);
  });
  Attack("a node sends another's own summary", [&] {
    const auto stream = Stream();
    EXPECT_EQ(VerdictOn(*stream, bystander_.Make(1, 0).summary)->kind(), v1::Verdict::REFUSED);
  });
  Attack("a node describes another", [&] {
    const auto stream = Stream();
    v1::AgentMessage message;
    *message.mutable_node_info() = Hello({.node = "db-1"}).hello().node_info();
    stream->Write(message);
    EXPECT_EQ(VerdictOn(*stream, NextSummary())->kind(), v1::Verdict::STORED);
  });
  Attack("a stream sends under another spool's name", [&] {
    const auto stream = Stream();
    v1::Summary summary = NextSummary();
    summary.mutable_identity()->set_incarnation(std::string(16, 'z'));
    EXPECT_EQ(VerdictOn(*stream, summary)->kind(), v1::Verdict::REFUSED);
  });
  Attack("a sequence again with other content", [&] {
    const auto stream = Stream();
    v1::Summary summary = NextSummary();
    EXPECT_EQ(VerdictOn(*stream, summary)->kind(), v1::Verdict::STORED);
    const uint64_t sequence = summary.identity().sequence();
    summary = NextSummary();
    summary.mutable_identity()->set_sequence(sequence);
    EXPECT_EQ(VerdictOn(*stream, summary)->kind(), v1::Verdict::REFUSED);
  });
}

}  // namespace
}  // namespace telltale::testing
