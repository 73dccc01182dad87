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

#include <memory>
#include <string>

namespace telltale::collector {
namespace {

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
      const GrpcConnections::Arriving arriving(*connections, taken_);
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
  one->Admitted();
  ExpectMayBring(*one, connection, kAllowance + GrpcConnection::kCall);
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
  one->Brought(kAllowance + GrpcConnection::kMessage);
  EXPECT_TRUE(connection.Open());
  one->Took(GrpcConnection::kMessage);
  one->GiveRoomBack();
  EXPECT_TRUE(one->TakeRoom());
  one->GiveRoomBack();
  one->Brought(kAllowance + GrpcConnection::kMessage);
  EXPECT_FALSE(connection.Open());
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
