// How much a connection of the gRPC port may bring besides messages, and the end of one that brings
// more.
#include "collector/grpc_connections.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "tests/support/pki.h"
#include "tests/support/temp_dir.h"

namespace telltale::collector {
namespace {

namespace testing = ::telltale::testing;

// Both ends of a connection over loopback, and TLS at the one that took it in.
class Connection {
 public:
  explicit Connection(const GrpcConnections* connections) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address);
    listen(listener, 1);
    socklen_t length = sizeof address;
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
    connect(peer_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    taken_ = accept(listener, nullptr, nullptr);
    close(listener);
    getsockname(peer_, reinterpret_cast<sockaddr*>(&address), &length);
    name_ = "ipv4:127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    if (connections == nullptr) {
      ssl_ = SSL_new(context_);
    } else {
      const GrpcConnections::Arriving arriving(*connections, taken_, "127.0.0.1");
      ssl_ = SSL_new(context_);
    }
  }
  ~Connection() {
    Forget();
    SSL_CTX_free(context_);
    close(taken_);
    close(peer_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Forget() {
    SSL_free(ssl_);
    ssl_ = nullptr;
  }
  const std::string& name() const { return name_; }
  SSL* ssl() const { return ssl_; }
  bool Open() const {
    pollfd wait{peer_, POLLIN, 0};
    return poll(&wait, 1, 0) == 0;
  }

 private:
  const int peer_ = socket(AF_INET, SOCK_STREAM, 0);
  int taken_ = -1;
  std::string name_;
  SSL_CTX* const context_ = SSL_CTX_new(TLS_server_method());
  SSL* ssl_ = nullptr;
};

class GrpcConnectionsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kAllowance = GrpcConnection::kAllowance;
  uint64_t Ended() const { return stats_.refused[static_cast<size_t>(GrpcRefusal::kFlood)]; }
  // Brings all that `connection` may still bring, if that is `bytes`, and no more.
  void ExpectMayBring(GrpcConnection& one, const Connection& connection, size_t bytes) {
    one.Brought(bytes);
    EXPECT_TRUE(connection.Open());
    EXPECT_EQ(Ended(), 0u);
    one.Brought(1);
    EXPECT_FALSE(connection.Open());
    one.Brought(1'000'000);
    EXPECT_EQ(Ended(), 1u) << "told once";
  }

  GrpcStats stats_;
  GrpcConnections connections_{&stats_};
};

TEST_F(GrpcConnectionsTest, EachIsFoundByItsPeerUntilItIsGone) {
  EXPECT_EQ(connections_.open(), 0u);
  Connection first(&connections_), second(&connections_), of_others(nullptr);
  EXPECT_EQ(connections_.open(), 2u);
  ASSERT_NE(connections_.Of(first.name()), nullptr);
  ASSERT_NE(connections_.Of(second.name()), nullptr);
  EXPECT_NE(connections_.Of(first.name()), connections_.Of(second.name()));
  EXPECT_EQ(connections_.Of(of_others.name()), nullptr);
  first.Forget();
  EXPECT_EQ(connections_.open(), 1u);
  EXPECT_EQ(connections_.Of(first.name()), nullptr);
}

TEST_F(GrpcConnectionsTest, OneThatBringsNoMessagesIsEnded) {
  const Connection connection(&connections_);
  ExpectMayBring(*connections_.Of(connection.name()), connection, kAllowance);
}

TEST_F(GrpcConnectionsTest, MessagesThatWereTakenInDoNotCount) {
  const Connection connection(&connections_);
  const auto one = connections_.Of(connection.name());
  for (int epoch = 0; epoch < 1'000; ++epoch) {
    one->Brought(13'000 + 200);
    one->Took(13'000);
  }
  EXPECT_TRUE(connection.Open());
  EXPECT_EQ(Ended(), 0u);
}

TEST_F(GrpcConnectionsTest, WhoMayCallMayBringItsHeaders) {
  const Connection connection(&connections_);
  const auto one = connections_.Of(connection.name());
  one->Brought(GrpcConnection::kCall);
  one->Admitted();
  ExpectMayBring(*one, connection, kAllowance);
}

// Five bytes on the wire are an empty message: what they are credited with must not pay for headers
// without end.
TEST_F(GrpcConnectionsTest, NobodySavesUpByEmptyMessages) {
  const Connection connection(&connections_);
  const auto one = connections_.Of(connection.name());
  for (int message = 0; message < 100'000; ++message) {
    one->Brought(5);
    one->Took(0);
    one->Admitted();
  }
  ExpectMayBring(*one, connection, kAllowance);
}

// Whoever looks at a connection may be the last who holds it.
TEST_F(GrpcConnectionsTest, ConnectionsMayEndWhileTheirHandshakesAreCounted) {
  std::atomic<bool> done = false;
  std::thread looks([&] {
    while (!done) connections_.Handshakes(std::chrono::steady_clock::now());
  });
  for (int i = 0; i < 20'000; ++i) {
    const GrpcConnections::Arriving arriving(connections_, -1, "127.0.0.1");
  }
  done = true;
  looks.join();
  EXPECT_EQ(connections_.open(), 0u);
}

TEST_F(GrpcConnectionsTest, WhoIsSentMuchMayConfirmIt) {
  const Connection connection(&connections_);
  const auto one = connections_.Of(connection.name());
  for (int sent_kib = 0; sent_kib < 1 << 20; sent_kib += 32) {
    one->Sent(32 << 10);
    one->Brought(2 * 35);
  }
  EXPECT_TRUE(connection.Open());
}

TEST_F(GrpcConnectionsTest, OneStreamMayBringALongMessageAndItsRoomGoesWithIt) {
  const Connection connection(&connections_);
  const auto one = connections_.Of(connection.name());
  EXPECT_TRUE(one->TakeRoom());
  EXPECT_FALSE(one->TakeRoom());
  one->Brought(kAllowance + GrpcConnection::kRoom);
  EXPECT_TRUE(connection.Open());
  one->Took(GrpcConnection::kRoom);
  one->GiveRoomBack();
  EXPECT_TRUE(one->TakeRoom());
  one->GiveRoomBack();
  one->Brought(kAllowance + GrpcConnection::kRoom);
  EXPECT_FALSE(connection.Open());
}

TEST_F(GrpcConnectionsTest, HandshakesAreUnderWayUntilTheyEndOrTakeTooLong) {
  const Connection agrees(&connections_), slow(&connections_);
  Connection gone(&connections_);
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(connections_.Handshakes(now).at("127.0.0.1"), 3u);
  connections_.Of(agrees.name())->Agreed();
  EXPECT_EQ(connections_.Handshakes(now).at("127.0.0.1"), 2u);
  gone.Forget();
  EXPECT_EQ(connections_.Handshakes(now).at("127.0.0.1"), 1u);
  const auto late = now + GrpcConnections::kLongHandshake + std::chrono::seconds(1);
  EXPECT_TRUE(connections_.Handshakes(late).empty());
  EXPECT_EQ(connections_.open(), 2u);
}

// A real handshake, in memory.
TEST_F(GrpcConnectionsTest, TlsTellsWhatComesAndWhenItIsAgreedOn) {
  const testing::TempDir scratch;
  testing::Pki pki(scratch.path(), "ca");
  const auto own = pki.Issue("collector", "DNS:localhost");
  const Connection connection(&connections_);
  SSL* const server = connection.ssl();
  SSL_use_certificate_file(server, own.cert.c_str(), SSL_FILETYPE_PEM);
  SSL_use_PrivateKey_file(server, own.key.c_str(), SSL_FILETYPE_PEM);
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL* const client = SSL_new(context);
  BIO *clients = nullptr, *servers = nullptr;
  ASSERT_EQ(BIO_new_bio_pair(&clients, 0, &servers, 0), 1);
  SSL_set_bio(client, clients, clients);
  SSL_set_bio(server, servers, servers);
  SSL_set_connect_state(client);
  SSL_set_accept_state(server);
  const auto one = connections_.Of(connection.name());
  for (int turn = 0; turn < 10 && !SSL_is_init_finished(server); ++turn) {
    EXPECT_FALSE(one->agreed());
    SSL_do_handshake(client);
    SSL_do_handshake(server);
  }
  EXPECT_TRUE(one->agreed());
  // What comes then counts to the byte, but for what TLS adds.
  const std::string piece(10'000, 'x');
  std::string read(piece.size(), ' ');
  size_t brought = 0;
  for (; connection.Open() && brought < 2 * kAllowance; brought += piece.size()) {
    ASSERT_EQ(SSL_write(client, piece.data(), 10'000), 10'000);
    ASSERT_EQ(SSL_read(server, read.data(), 10'000), 10'000);
  }
  EXPECT_GT(brought, kAllowance * 9 / 10);
  EXPECT_LT(brought, kAllowance + piece.size());
  EXPECT_EQ(Ended(), 1u);
  SSL_free(client);
  SSL_CTX_free(context);
}

TEST(ConnectionKeyTest, AllFormsOfAnAddressAreOne) {
  EXPECT_EQ(ConnectionKey("ipv4:10.0.0.7:51234"), "10.0.0.7 51234");
  EXPECT_EQ(ConnectionKey("ipv6:%5B::ffff:10.0.0.7%5D:51234"), "10.0.0.7 51234");
  EXPECT_EQ(ConnectionKey("ipv6:[2001:DB8:0::7]:443"), "2001:db8::7 443");
  EXPECT_EQ(ConnectionKey("ipv6:%5Bfe80::7%25eth0%5D:443"), "fe80::7 443");
  for (const char* none : {"", "unix:/run/socket", "ipv4:", "ipv6:[::1", "ipv6:nothing:1"}) {
    EXPECT_EQ(ConnectionKey(none), "") << none;
  }
}

}  // namespace
}  // namespace telltale::collector
