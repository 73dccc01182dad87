// The HTTPS server against a real client over loopback: who gets in, what bounds hold, what is cut.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "collector/web/http_server.h"
#include "tests/support/https_client.h"
#include "tests/support/web_pki.h"

namespace telltale::web {
namespace {

using ::testing::HasSubstr;
using testing::HttpReply;
using testing::HttpsClient;
using testing::IssuedFiles;
using testing::WebPki;

Response Echo(const Request& request) {
  Response response;
  response.content_type = "text/plain";
  response.body = request.method + " " + request.path;
  for (const auto& [name, value] : request.query) response.body += " " + name + "=" + value;
  response.body += request.peer.has_value() ? " " + request.peer->name : " nobody";
  response.body += request.body.empty() ? "" : " body:" + request.body;
  return response;
}

// `pieces` pieces of 60 KiB; then, if asked, an error.
class Pieces : public BodyStream {
 public:
  Pieces(int pieces, bool fail) : left_(pieces), fail_(fail) {}
  absl::StatusOr<Step> Next(std::string& piece) override {
    if (left_ == 0 && fail_) return absl::InternalError("row damaged");
    if (left_ == 0) return Step::kEnd;
    piece.assign(60 * 1024, 'x');
    --left_;
    return Step::kMore;
  }

 private:
  int left_;
  const bool fail_;
};

// What a live stream of the test sends, handed over by the test's thread.
struct Channel {
  std::mutex mutex;
  std::condition_variable changed;
  std::string text;
  std::function<void()> wake;
  bool gone = false;

  void Say(const std::string& words) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return wake != nullptr; });
    text += words;
    wake();
  }
  void AwaitGone() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return gone; });
  }
};

class LiveStream : public BodyStream {
 public:
  explicit LiveStream(Channel& channel) : channel_(channel) {}
  ~LiveStream() override {
    const std::lock_guard lock(channel_.mutex);
    channel_.wake = nullptr;
    channel_.gone = true;
    channel_.changed.notify_all();
  }
  void SetWake(std::function<void()> wake) override {
    const std::lock_guard lock(channel_.mutex);
    channel_.wake = std::move(wake);
    channel_.changed.notify_all();
  }
  absl::StatusOr<Step> Next(std::string& piece) override {
    const std::lock_guard lock(channel_.mutex);
    piece.swap(channel_.text);
    return Step::kWait;
  }
  std::string_view Heartbeat() const override { return ": still here\n\n"; }

 private:
  Channel& channel_;
};

// Answers that take until they are let go.
class Slow {
 public:
  Response Answer() {
    std::unique_lock lock(mutex_);
    ++running_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return go_on_; });
    return {};
  }
  void AwaitRunning(int many) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ >= many; });
  }
  void LetGo() {
    const std::lock_guard lock(mutex_);
    go_on_ = true;
    changed_.notify_all();
  }
  int running() {
    const std::lock_guard lock(mutex_);
    return running_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  bool go_on_ = false;
};

constexpr char kGet[] = " HTTP/1.1\r\nHost: h\r\n\r\n";

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() : server_files_(pki_.Issue("collector", {})) {}

  void Start() {
    options_.address = "127.0.0.1";
    options_.port = 0;
    options_.ca_file = pki_.ca_file();
    options_.cert_file = server_files_.cert;
    options_.key_file = server_files_.key;
    if (!options_.handler) options_.handler = Echo;
    auto server = HttpServer::Start(options_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  HttpsClient::Options Anonymous() const {
    return {.port = server_->port(), .ca_file = pki_.ca_file(), .client = {}};
  }
  HttpsClient::Options As(const std::string& role, const std::string& name) const {
    auto options = Anonymous();
    options.client = pki_.Issue(name, {"telltale://" + role + "/" + name});
    return options;
  }

  WebPki pki_;
  const IssuedFiles server_files_;
  HttpServerOptions options_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
  Start();
  HttpsClient client(As("viewer", "grafana"));
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(client.Get("/a%20b?x=1&y=%26").body, "GET /a b x=1 y=& grafana");
  EXPECT_EQ(client.Post("/c", "text/plain", "hello").body, "POST /c grafana body:hello");
  EXPECT_EQ(server_->stats().accepted, 1u);
}

TEST_F(HttpServerTest, SendsStrictHeaders) {
  Start();
  HttpsClient client(Anonymous());
  auto reply = client.Get("/");
  EXPECT_THAT(reply.headers["content-security-policy"], HasSubstr("default-src 'none'"));
  EXPECT_EQ(reply.headers["x-content-type-options"], "nosniff");
  EXPECT_EQ(reply.headers["cache-control"], "no-store");
  EXPECT_EQ(reply.headers["x-frame-options"], "DENY");
  EXPECT_EQ(reply.headers["strict-transport-security"], "max-age=31536000");
  EXPECT_THAT(reply.headers["content-security-policy"], HasSubstr("frame-ancestors 'none'"));
}

TEST_F(HttpServerTest, AClientWithoutACertificateIsNobody) {
  Start();
  HttpsClient client(Anonymous());
  EXPECT_EQ(client.Get("/").body, "GET / nobody");
}

TEST_F(HttpServerTest, ACertificateOfAnotherAuthorityIsRefused) {
  Start();
  const WebPki other;
  auto options = Anonymous();
  options.client = other.Issue("grafana", {"telltale://viewer/grafana"});
  HttpsClient client(options);
  EXPECT_EQ(client.Get("/").status, 0);
}

TEST_F(HttpServerTest, ACertificateWithTwoIdentitiesIsNobody) {
  Start();
  auto options = Anonymous();
  options.client = pki_.Issue("two", {"telltale://viewer/a", "telltale://operator/a"});
  HttpsClient client(options);
  EXPECT_EQ(client.Get("/").body, "GET / nobody");
}

TEST_F(HttpServerTest, RefusesOlderTls) {
  Start();
  auto options = Anonymous();
  options.max_tls_version = TLS1_2_VERSION;
  HttpsClient client(options);
  EXPECT_FALSE(client.ok());
}

TEST_F(HttpServerTest, AHeaderAboveTheLimitGets431) {
  options_.max_header_bytes = 4096;
  Start();
  HttpsClient client(Anonymous());
  const auto reply = client.Get("/", "X-Long: " + std::string(8192, 'a') + "\r\n");
  EXPECT_EQ(reply.status, 431);
  EXPECT_THAT(reply.body, HasSubstr("\"error\""));
  EXPECT_EQ(server_->stats().Refused(Refusal::kHeaderLimit), 1u);
}

TEST_F(HttpServerTest, ABodyAboveTheLimitGets413BeforeItIsRead) {
  options_.max_body_bytes = 1000;
  Start();
  HttpsClient client(Anonymous());
  client.Send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\nfirst bytes");
  EXPECT_EQ(client.Read().status, 413);
}

TEST_F(HttpServerTest, BytesThatAreNotHttpGet400) {
  Start();
  HttpsClient client(Anonymous());
  client.Send("\x16\x03\x01 nonsense\r\n\r\n");
  EXPECT_EQ(client.Read().status, 400);
}

TEST_F(HttpServerTest, ATokenStandsForItsHolderAndABadOneForNobody) {
  options_.check_token = [](std::string_view token,
                            const std::string& address) -> absl::StatusOr<collector::Identity> {
    EXPECT_EQ(address, "127.0.0.1");
    if (token == "good") return collector::Identity{collector::Role::kViewer, "grafana"};
    return absl::UnauthenticatedError("token: unknown");
  };
  Start();
  HttpsClient client(Anonymous());
  EXPECT_EQ(client.Get("/", "Authorization: Bearer good\r\n").body, "GET / grafana");
  EXPECT_EQ(client.Get("/", "authorization: bearer good\r\n").body, "GET / grafana");
  for (const char* bad : {"Bearer bad", "Bearer", "Basic good", "good"}) {
    EXPECT_EQ(client.Get("/", std::string("Authorization: ") + bad + "\r\n").body, "GET / nobody");
  }
  EXPECT_EQ(client.Get("/", "Authorization: Bearer good\r\nAuthorization: Bearer good\r\n").body,
            "GET / nobody");
  EXPECT_EQ(client.Get("/").body, "GET / nobody");
  // A bad token is not helped by a good certificate.
  HttpsClient viewer(As("viewer", "ann"));
  EXPECT_EQ(viewer.Get("/").body, "GET / ann");
  EXPECT_EQ(viewer.Get("/", "Authorization: Bearer bad\r\n").body, "GET / nobody");
}

TEST_F(HttpServerTest, ACertificateIsAskedAboutForEachRequest) {
  std::atomic<bool> revoked = false;
  options_.check_certificate = [&](const std::vector<std::string>&) {
    return revoked ? absl::UnauthenticatedError("revoked") : absl::OkStatus();
  };
  Start();
  HttpsClient client(As("viewer", "ann"));
  EXPECT_EQ(client.Get("/").body, "GET / ann");
  revoked = true;
  EXPECT_EQ(client.Get("/").body, "GET / nobody");
}

TEST_F(HttpServerTest, AnAddressAsksOnlySoOftenWithoutSayingWhoItIs) {
  options_.anonymous_rate = {.per_second = 0, .at_once = 3};
  options_.check_token = [](std::string_view, const std::string&) {
    return absl::StatusOr<collector::Identity>(
        collector::Identity{collector::Role::kViewer, "grafana"});
  };
  Start();
  HttpsClient known(As("viewer", "ann"));
  HttpsClient client(Anonymous());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(known.Get("/").status, 200);
    EXPECT_EQ(client.Get("/", "Authorization: Bearer good\r\n").status, 200);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.Get("/").status, 200);
  EXPECT_EQ(client.Get("/").status, 429);
  EXPECT_TRUE(client.Closed());
  EXPECT_EQ(server_->stats().Refused(Refusal::kRate), 1u);
}

TEST_F(HttpServerTest, OnlyACertificateThatMayAskSparesTheRate) {
  options_.anonymous_rate = {.per_second = 0, .at_once = 3};
  std::atomic<bool> revoked = false;
  options_.check_certificate = [&](const std::vector<std::string>&) {
    return revoked ? absl::UnauthenticatedError("revoked") : absl::OkStatus();
  };
  options_.check_token = [](std::string_view, const std::string&) {
    return absl::StatusOr<collector::Identity>(absl::UnauthenticatedError("token: unknown"));
  };
  Start();
  const auto viewer = As("viewer", "ann");
  HttpsClient node(As("node", "web-1"));
  EXPECT_EQ(node.Get("/").status, 200);
  HttpsClient guesses(viewer);
  EXPECT_EQ(guesses.Get("/", "Authorization: Bearer guess\r\n").status, 200);
  EXPECT_EQ(guesses.Get("/").body, "GET / ann") << "which costs nothing";
  HttpsClient gone(viewer);
  revoked = true;
  EXPECT_EQ(gone.Get("/").body, "GET / nobody");
  EXPECT_EQ(gone.Get("/").status, 429);
  EXPECT_EQ(guesses.Get("/", "Authorization: Bearer guess\r\n").status, 429);
  EXPECT_EQ(node.Get("/").status, 429);
}

TEST_F(HttpServerTest, ABodyIsReadOnlyFromWhoMayAsk) {
  options_.check_token = [](std::string_view token,
                            const std::string&) -> absl::StatusOr<collector::Identity> {
    if (token == "good") return collector::Identity{collector::Role::kViewer, "grafana"};
    return absl::UnauthenticatedError("token: unknown");
  };
  Start();
  // The rest of it never comes.
  const auto begun = [](HttpsClient& client, const std::string& headers) {
    client.Send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n" + headers +
                "\r\nfirst bytes");
    return client.Read().status;
  };
  HttpsClient nobody(Anonymous()), guess(Anonymous()), node(As("node", "web-1"));
  EXPECT_EQ(begun(nobody, ""), 401);
  EXPECT_EQ(begun(guess, "Authorization: Bearer bad\r\n"), 401);
  EXPECT_EQ(begun(node, ""), 403);
  EXPECT_TRUE(nobody.Closed());
  EXPECT_EQ(server_->stats().Refused(Refusal::kUnauthenticated), 1u);
  EXPECT_EQ(server_->stats().Refused(Refusal::kToken), 1u);
  EXPECT_EQ(server_->stats().Refused(Refusal::kForbidden), 1u);
  HttpsClient holder(Anonymous());
  holder.Send(
      "POST /a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\nContent-Length: 5\r\n\r\n"
      "hello");
  EXPECT_EQ(holder.Read().body, "POST /a grafana body:hello");
}

TEST_F(HttpServerTest, ThatItLivesIsSaidWhateverElseGoesOnAndHoweverOften) {
  Slow slow;
  options_.worker_threads = 1;
  options_.anonymous_rate = {.per_second = 0, .at_once = 2};
  options_.handler = [&](const Request& request) {
    return request.path == "/readyz" ? Response() : slow.Answer();
  };
  options_.at_once = [](const std::string& method,
                        const std::string& path) -> std::optional<Response> {
    if (method != "GET" || path != "/healthz") return std::nullopt;
    Response response;
    response.body = "ok";
    return response;
  };
  options_.quick = [](const std::string& path) { return path == "/readyz"; };
  Start();
  HttpsClient ann(As("viewer", "ann")), bob(As("viewer", "bob")), eve(As("viewer", "eve"));
  for (HttpsClient* client : {&ann, &bob}) client->Send(std::string("GET /long") + kGet);
  slow.AwaitRunning(2);  // every worker
  eve.Send(std::string("GET /long") + kGet);
  HttpsClient stays(Anonymous());
  EXPECT_EQ(stays.Get("/healthz").body, "ok");
  HttpsClient ready(Anonymous());
  EXPECT_EQ(ready.Get("/readyz").status, 200) << "has a thread of its own";
  for (int i = 0; i < 5; ++i) {
    HttpsClient client(Anonymous());
    EXPECT_EQ(client.Get("/healthz").body, "ok") << i;
    EXPECT_TRUE(client.Closed()) << "beyond the rate it has to connect again";
  }
  EXPECT_EQ(HttpsClient(Anonymous()).Get("/readyz").status, 429);
  slow.LetGo();
  for (HttpsClient* client : {&ann, &bob, &eve}) EXPECT_EQ(client->Read().status, 200);
}

TEST_F(HttpServerTest, WhoAsksMuchWaitsBehindHimself) {
  Slow slow;
  options_.worker_threads = 1;
  options_.handler = [&](const Request& request) {
    return request.path == "/long" ? slow.Answer() : Echo(request);
  };
  Start();
  const auto greedy = As("viewer", "greedy");
  HttpsClient first(greedy), second(greedy), third(greedy);
  for (HttpsClient* client : {&first, &second, &third}) {
    client->Send(std::string("GET /long") + kGet);
  }
  slow.AwaitRunning(1);
  EXPECT_EQ(HttpsClient(As("viewer", "ann")).Get("/short").body, "GET /short ann");
  EXPECT_EQ(slow.running(), 1);
  slow.LetGo();
  for (HttpsClient* client : {&first, &second, &third}) EXPECT_EQ(client->Read().status, 200);
}

TEST_F(HttpServerTest, AnOpenStreamEndsWhenItsReaderMayNoLonger) {
  std::atomic<bool> revoked = false;
  const auto good = [&] {
    return revoked ? absl::UnauthenticatedError("revoked") : absl::OkStatus();
  };
  options_.heartbeat = std::chrono::milliseconds(50);
  options_.check_certificate = [&](const std::vector<std::string>&) { return good(); };
  options_.check_token = [](std::string_view, const std::string&) {
    return absl::StatusOr<collector::Identity>(
        collector::Identity{collector::Role::kViewer, "grafana"});
  };
  options_.token_stands = [&](std::string_view token) {
    EXPECT_EQ(token, "good");
    return good();
  };
  Channel channels[2];
  options_.handler = [&](const Request& request) {
    Response response;
    response.stream = std::make_unique<LiveStream>(channels[request.path == "/token"]);
    return response;
  };
  Start();
  HttpsClient viewer(As("viewer", "ann")), holder(Anonymous());
  viewer.Send("GET /certificate HTTP/1.1\r\nHost: h\r\n\r\n");
  holder.Send("GET /token HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\n\r\n");
  for (HttpsClient* client : {&viewer, &holder}) {
    EXPECT_EQ(client->ReadHeader().status, 200);
    EXPECT_EQ(client->ReadChunk(), ": still here\n\n");
  }
  revoked = true;
  for (HttpsClient* client : {&viewer, &holder}) {
    while (!client->ReadChunk().empty()) {
    }
    EXPECT_TRUE(client->Closed());
  }
  for (Channel& channel : channels) channel.AwaitGone();
  EXPECT_EQ(server_->stats().Refused(Refusal::kUnauthenticated), 1u);
  EXPECT_EQ(server_->stats().Refused(Refusal::kToken), 1u);
}

TEST_F(HttpServerTest, AnAddressConnectsOnlySoOften) {
  options_.connection_rate = {.per_second = 0, .at_once = 2};
  Start();
  EXPECT_TRUE(HttpsClient(Anonymous()).ok());
  EXPECT_TRUE(HttpsClient(Anonymous()).ok());
  EXPECT_FALSE(HttpsClient(Anonymous()).ok());
  EXPECT_EQ(server_->stats().Refused(Refusal::kRate), 1u);
}

TEST_F(HttpServerTest, ARequestThatCouldBeReadTwoWaysIsRefusedAndWhatFollowsItIsNotRead) {
  std::atomic<int> asked = 0;
  options_.handler = [&](const Request& request) {
    ++asked;
    return Echo(request);
  };
  Start();
  HttpsClient client(Anonymous());
  client.Send(
      "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n"
      "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.Read().status, 400);
  EXPECT_TRUE(client.Closed());
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(server_->stats().Refused(Refusal::kBadRequest), 1u);
}

TEST_F(HttpServerTest, ARequestThatDripsIsCutAtItsDeadline) {
  options_.request_timeout = std::chrono::milliseconds(200);
  Start();
  HttpsClient client(Anonymous());
  client.Send("GET / HTTP/1.1\r\nHost:");
  EXPECT_TRUE(client.Closed());
  // The deadline closes the socket first and is counted a moment later, on the server's thread.
  for (int i = 0; i < 500 && server_->stats().Refused(Refusal::kTimeout) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(server_->stats().Refused(Refusal::kTimeout), 1u);
}

TEST_F(HttpServerTest, ConnectionsAboveTheLimitAreClosedAndCounted) {
  options_.max_connections = 2;
  Start();
  HttpsClient first(Anonymous()), second(Anonymous()), third(Anonymous());
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(second.ok());
  EXPECT_FALSE(third.ok());
  EXPECT_EQ(server_->stats().Refused(Refusal::kFull), 1u);
}

TEST_F(HttpServerTest, ConnectionsThatCannotBeTakenForWantOfAFileAreCountedAndTakenLater) {
  Start();
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(client, 0);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int lowest = dup(client);  // no lower one is free
  close(lowest);
  const rlimit none{static_cast<rlim_t>(lowest), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(server_->port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to), 0)
      << "the kernel greets whoever comes";
  for (int i = 0; i < 500 && server_->stats().Refused(Refusal::kAccept) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_GT(server_->stats().Refused(Refusal::kAccept), 0u);
  for (int i = 0; i < 500 && server_->stats().accepted == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(server_->stats().accepted, 1u);
  close(client);
}

TEST_F(HttpServerTest, WhatIsTurnedAwayCountsAsItsHandlerSays) {
  options_.handler = [](const Request& request) {
    const absl::Status much = absl::ResourceExhaustedError("more than there may be");
    return request.path == "/follow" ? ErrorResponse(much, Refusal::kFollowers)
                                     : ErrorResponse(much);
  };
  Start();
  HttpsClient client(As("viewer", "grafana"));
  EXPECT_EQ(client.Get("/follow").status, 429);
  EXPECT_EQ(server_->stats().Refused(Refusal::kFollowers), 1u);
  EXPECT_EQ(server_->stats().Refused(Refusal::kTooLarge), 0u);
  EXPECT_EQ(client.Get("/all").status, 429);
  EXPECT_EQ(server_->stats().Refused(Refusal::kTooLarge), 1u);
}

TEST_F(HttpServerTest, OneAddressCannotTakeAllConnections) {
  options_.max_connections_per_address = 1;
  Start();
  HttpsClient first(Anonymous()), second(Anonymous());
  EXPECT_TRUE(first.ok());
  EXPECT_FALSE(second.ok());
}

TEST_F(HttpServerTest, StreamsALongBodyInChunks) {
  options_.handler = [](const Request&) {
    Response response;
    response.stream = std::make_unique<Pieces>(50, false);
    return response;
  };
  Start();
  HttpsClient client(Anonymous());
  const auto reply = client.Get("/");
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.body.size(), 50u * 60 * 1024);
}

TEST_F(HttpServerTest, AnErrorInTheMiddleLeavesTheBodyVisiblyIncomplete) {
  options_.handler = [](const Request&) {
    Response response;
    response.stream = std::make_unique<Pieces>(2, true);
    return response;
  };
  Start();
  HttpsClient client(Anonymous());
  const auto reply = client.Get("/");
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.complete);
  EXPECT_EQ(server_->stats().Refused(Refusal::kAborted), 1u);
}

TEST_F(HttpServerTest, ALiveStreamSendsWhenWokenAndHeartbeatsWhenSilent) {
  Channel channel;
  options_.heartbeat = std::chrono::milliseconds(50);
  options_.handler = [&](const Request&) {
    Response response;
    response.stream = std::make_unique<LiveStream>(channel);
    return response;
  };
  Start();
  HttpsClient client(Anonymous());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.ReadHeader().status, 200);
  EXPECT_EQ(client.ReadChunk(), ": still here\n\n");
  channel.Say("news");
  std::string chunk;
  while ((chunk = client.ReadChunk()) == ": still here\n\n") {
  }
  EXPECT_EQ(chunk, "news");
  server_->Stop();
  channel.AwaitGone();
}

TEST_F(HttpServerTest, AnExceptionInAHandlerIsAnAnswerNotACrash) {
  options_.handler = [](const Request&) -> Response { throw std::runtime_error("secret path"); };
  Start();
  HttpsClient client(Anonymous());
  const auto reply = client.Get("/");
  EXPECT_EQ(reply.status, 500);
  EXPECT_THAT(reply.body, ::testing::Not(HasSubstr("secret")));
}

TEST_F(HttpServerTest, ANewCertificateOnDiskIsShownToNewConnections) {
  options_.reload_interval = std::chrono::milliseconds(10);
  Start();
  const long before = HttpsClient(Anonymous()).server_serial();
  pki_.Issue("collector", {});
  while (server_->stats().reloads == 0) std::this_thread::yield();
  EXPECT_NE(HttpsClient(Anonymous()).server_serial(), before);
}

TEST_F(HttpServerTest, ABrokenCertificateOnDiskLeavesTheOldOneInUse) {
  options_.reload_interval = std::chrono::milliseconds(10);
  std::string said;
  std::mutex mutex;
  options_.log = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    said = line;
  };
  Start();
  const long before = HttpsClient(Anonymous()).server_serial();
  {
    FILE* file = fopen(server_files_.cert.c_str(), "w");
    fputs("not PEM", file);
    fclose(file);
  }
  while (server_->stats().reload_failures == 0) std::this_thread::yield();
  EXPECT_EQ(HttpsClient(Anonymous()).server_serial(), before);
  const std::lock_guard lock(mutex);
  EXPECT_THAT(said, HasSubstr(server_files_.cert));
}

TEST_F(HttpServerTest, StopLetsARunningAnswerFinish) {
  std::mutex mutex;
  std::condition_variable changed;
  bool began = false, go_on = false;
  options_.handler = [&](const Request&) {
    std::unique_lock lock(mutex);
    began = true;
    changed.notify_all();
    changed.wait(lock, [&] { return go_on; });
    Response response;
    response.body = "done";
    return response;
  };
  Start();
  HttpsClient client(Anonymous());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return began; });
  }
  std::thread stop([&] { server_->Stop(); });
  {
    const std::lock_guard lock(mutex);
    go_on = true;
    changed.notify_all();
  }
  EXPECT_EQ(client.Read().body, "done");
  stop.join();
  EXPECT_FALSE(HttpsClient(Anonymous()).ok());
}

TEST_F(HttpServerTest, AnAskerWhoClosesEndsTheWorkOnItsAnswer) {
  std::mutex mutex;
  std::condition_variable changed;
  bool began = false, ended = false, noticed = false;
  options_.handler = [&](const Request& request) {
    std::unique_lock lock(mutex);
    began = true;
    changed.notify_all();
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!request.cancelled->load() && std::chrono::steady_clock::now() < patience) {
      changed.wait_for(lock, std::chrono::milliseconds(10));
    }
    noticed = request.cancelled->load();
    ended = true;
    changed.notify_all();
    return Response();
  };
  Start();
  {
    HttpsClient client(Anonymous());
    client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return began; });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return ended; });
  EXPECT_TRUE(noticed);
}

TEST_F(HttpServerTest, ATakenPortIsOneClearLine) {
  Start();
  auto again = options_;
  again.port = server_->port();
  const auto second = HttpServer::Start(again);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(
      std::string(second.status().message().data(), second.status().message().size()),
      ::testing::AllOf(HasSubstr("127.0.0.1:"), HasSubstr("in use"), HasSubstr("listen.https")));
}

TEST_F(HttpServerTest, AMissingKeyFileIsNamed) {
  options_.handler = Echo;
  options_.ca_file = pki_.ca_file();
  options_.cert_file = server_files_.cert;
  options_.key_file = "/nonexistent/key.pem";
  const auto server = HttpServer::Start(options_);
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(std::string(server.status().message().data(), server.status().message().size()),
              HasSubstr("/nonexistent/key.pem"));
}

}  // namespace
}  // namespace telltale::web
