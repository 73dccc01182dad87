// The door of the gRPC server: who is let in, who waits, and that it opens again.
#include "collector/grpc_listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace telltale::collector {
namespace {

using ::testing::HasSubstr;

// Stands for gRPC: keeps what it is given, and begins a handshake with it that nobody goes on with.
class Guests : public grpc::experimental::ExternalConnectionAcceptor {
 public:
  Guests(std::vector<int>* fds, std::mutex* mutex) : fds_(fds), mutex_(mutex) {}
  ~Guests() override {
    for (SSL* handshake : handshakes_) SSL_free(handshake);
    SSL_CTX_free(context_);
  }
  void HandleNewConnection(NewConnectionParameters* given) override {
    const std::lock_guard<std::mutex> lock(*mutex_);
    fds_->push_back(given->fd);
    handshakes_.push_back(SSL_new(context_));
  }

 private:
  SSL_CTX* const context_ = SSL_CTX_new(TLS_server_method());
  std::vector<int>* const fds_;
  std::mutex* const mutex_;
  std::vector<SSL*> handshakes_;
};

class Client {
 public:
  explicit Client(int family = AF_INET) : family_(family), fd_(socket(family, SOCK_STREAM, 0)) {}
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool Connect(uint16_t port, const char* from = nullptr) {
    if (family_ == AF_INET6) {
      sockaddr_in6 to{};
      to.sin6_family = AF_INET6;
      to.sin6_port = htons(port);
      to.sin6_addr = in6addr_loopback;
      return connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (from != nullptr) {
      inet_pton(AF_INET, from, &address.sin_addr);
      if (bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return false;
    }
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    address.sin_port = htons(port);
    return connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  // As gRPC calls the peer.
  std::string name() const {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length);
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    return std::string("ipv4:") + text + ":" + std::to_string(ntohs(address.sin_port));
  }
  void Say(char byte) const { send(fd_, &byte, 1, MSG_NOSIGNAL); }
  // Until the other side has closed it; false: it has not within a while.
  bool WasClosed() {
    pollfd wait{fd_, POLLIN, 0};
    char byte;
    return poll(&wait, 1, 10'000) == 1 && recv(fd_, &byte, 1, 0) <= 0;
  }

 private:
  const int family_;
  const int fd_;
};

class GrpcListenerTest : public ::testing::Test {
 protected:
  void Open(const ConnectionPace& pace, const std::string& host = "127.0.0.1") {
    auto listener = GrpcListener::Bind({host, 0}, pace, &stats_, &connections_);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    listener_->Start(std::make_unique<Guests>(&guests_, &mutex_));
  }
  void TearDown() override {
    if (listener_ != nullptr) listener_->Stop();
    for (const int fd : guests_) close(fd);
  }
  size_t In() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return guests_.size();
  }
  bool ComeToBe(size_t guests) {
    for (int look = 0; look < 1'000 && In() < guests; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return In() == guests;
  }
  // Whether one of those that are in says this.
  bool HeardOne(char byte) {
    for (int look = 0; look < 1'000; ++look) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const int fd : guests_) {
          char said = 0;
          if (recv(fd, &said, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && said == byte) return true;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  uint64_t Refused(GrpcRefusal why) const { return stats_.refused[static_cast<size_t>(why)]; }

  static constexpr ConnectionPace kAny{
      .per_second = 1e6, .at_once = 1e6, .handshakes = 1'000, .waiting = 1'000};
  std::mutex mutex_;
  std::vector<int> guests_;  // guarded by mutex_
  GrpcStats stats_;
  GrpcConnections connections_{&stats_};
  std::unique_ptr<GrpcListener> listener_;
};

// What this process may have open while it lives; the old limit and all files are back afterwards.
class FewFiles {
 public:
  explicit FewFiles(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{most, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewFiles() {
    Free();
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  void TakeAll() {
    for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) {
      taken_.push_back(fd);
    }
  }
  void Free() {
    for (const int fd : taken_) close(fd);
    taken_.clear();
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

TEST_F(GrpcListenerTest, ConnectionsComeInAgainOnceAFileDescriptorIsFree) {
  Open(kAny);
  Client refused, waiting, later;
  {
    FewFiles few(40);
    // Says that few are left, so that nothing need be said when none is: a sanitizer looks at what
    // writes a log line through a pipe, the first time.
    ASSERT_TRUE(refused.Connect(listener_->port()));
    EXPECT_TRUE(refused.WasClosed());
    few.TakeAll();
    ASSERT_TRUE(waiting.Connect(listener_->port())) << "the kernel greets whoever comes";
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(In(), 0u);
    EXPECT_GT(Refused(GrpcRefusal::kAccept), 0u);
  }
  EXPECT_TRUE(ComeToBe(1)) << "who came meanwhile";
  ASSERT_TRUE(later.Connect(listener_->port()));
  EXPECT_TRUE(ComeToBe(2));
}

TEST_F(GrpcListenerTest, TheLastFileDescriptorsAreLeftToTheStore) {
  Open(kAny);
  FewFiles few(200);
  std::vector<std::unique_ptr<Client>> clients;
  while (Refused(GrpcRefusal::kFiles) == 0 && clients.size() < 200) {
    clients.push_back(std::make_unique<Client>());
    ASSERT_TRUE(clients.back()->Connect(listener_->port())) << clients.size();
    const size_t come = clients.size();
    for (int look = 0; look < 1'000 && In() + Refused(GrpcRefusal::kFiles) < come; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  EXPECT_EQ(Refused(GrpcRefusal::kFiles), 1u);
  EXPECT_TRUE(clients.back()->WasClosed());
  const int next = open("/dev/null", O_RDONLY);
  EXPECT_GE(next, 0);
  EXPECT_LT(next, 200 - 30) << "of 200 some 32 are left";
  close(next);
  clients.pop_back();
}

TEST_F(GrpcListenerTest, AnAddressThatCrowdsOthersOutIsRefusedAndNoOther) {
  constexpr size_t kPlaces = WaitingRoom::kCrowd;
  Open({.per_second = 4, .at_once = 1, .handshakes = 1'000, .waiting = kPlaces, .crowding = 0});
  Client first, other;
  ASSERT_TRUE(first.Connect(listener_->port()));
  ASSERT_TRUE(ComeToBe(1));
  std::vector<std::unique_ptr<Client>> crowd;
  while (crowd.size() < 3 * kPlaces) {
    crowd.push_back(std::make_unique<Client>());
    ASSERT_TRUE(crowd.back()->Connect(listener_->port(), "127.0.0.2"));
  }
  for (int look = 0; look < 1'000 && Refused(GrpcRefusal::kRate) <= kPlaces; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GT(Refused(GrpcRefusal::kRate), kPlaces);
  const size_t before = In();
  ASSERT_TRUE(other.Connect(listener_->port()));
  other.Say('o');
  EXPECT_TRUE(HeardOne('o'));
  EXPECT_LE(In(), before + 4) << "its turn came before that of the crowd";
}

TEST_F(GrpcListenerTest, AFleetBehindOneAddressWaitsAndIsNotRefused) {
  Open({.per_second = 50, .at_once = 2, .handshakes = 1'000, .waiting = 4});
  std::vector<std::unique_ptr<Client>> fleet;
  while (fleet.size() < 2 * WaitingRoom::kCrowd) {
    fleet.push_back(std::make_unique<Client>());
    ASSERT_TRUE(fleet.back()->Connect(listener_->port()));
  }
  EXPECT_LT(In(), fleet.size());
  EXPECT_TRUE(ComeToBe(fleet.size()));
  EXPECT_EQ(Refused(GrpcRefusal::kRate), 0u);
}

TEST_F(GrpcListenerTest, NoMoreHandshakesAreUnderWayThanTheMachineEnds) {
  Open({.per_second = 1e6, .at_once = 1e6, .handshakes = 2, .waiting = 1'000});
  Client first, second, third;
  ASSERT_TRUE(first.Connect(listener_->port()));
  ASSERT_TRUE(second.Connect(listener_->port()));
  ASSERT_TRUE(ComeToBe(2));
  ASSERT_TRUE(third.Connect(listener_->port()));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(In(), 2u);
  connections_.Of(first.name())->Agreed();
  EXPECT_TRUE(ComeToBe(3));
}

TEST_F(GrpcListenerTest, AnAddressThatEndsNoHandshakeKeepsNobodyOut) {
  Open({.per_second = 1e6, .at_once = 1e6, .handshakes = 4, .waiting = 1'000});
  std::vector<std::unique_ptr<Client>> silent;
  while (silent.size() < 20) {
    silent.push_back(std::make_unique<Client>());
    ASSERT_TRUE(silent.back()->Connect(listener_->port(), "127.0.0.2"));
  }
  ASSERT_TRUE(ComeToBe(4)) << "while nobody else is there it has all places";
  const auto two_agree = [&] {
    int agreed = 0;
    for (const auto& one : silent) {
      const auto connection = connections_.Of(one->name());
      if (connection == nullptr || connection->agreed() || agreed == 2) continue;
      connection->Agreed();
      ++agreed;
    }
  };
  two_agree();
  ASSERT_TRUE(ComeToBe(6));
  Client other, another;
  ASSERT_TRUE(other.Connect(listener_->port()));
  ASSERT_TRUE(another.Connect(listener_->port()));
  // Two more may begin, and they are not of the silent ones.
  two_agree();
  ASSERT_TRUE(ComeToBe(8));
  other.Say('o');
  another.Say('a');
  EXPECT_TRUE(HeardOne('o'));
  EXPECT_TRUE(HeardOne('a'));
  EXPECT_EQ(In(), 8u);
}

// The port for agents and the one for those without a certificate count together.
TEST_F(GrpcListenerTest, WhoWaitsAtOneDoorIsNotForgottenForTheOther) {
  constexpr ConnectionPace kClosed{
      .per_second = 1e-6, .at_once = 1e-6, .handshakes = 1'000, .waiting = 1'000};
  Open(kClosed);
  GrpcConnections others{&stats_};
  auto other_door = GrpcListener::Bind({"127.0.0.1", 0}, kClosed, &stats_, &others);
  ASSERT_TRUE(other_door.ok()) << other_door.status();
  (*other_door)->Start(std::make_unique<Guests>(&guests_, &mutex_));
  const auto waiting_come_to_be = [this](uint64_t count) {
    for (int look = 0; look < 500 && stats_.waiting != count; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return stats_.waiting == count;
  };
  Client first, second, third;
  ASSERT_TRUE(first.Connect(listener_->port()));
  ASSERT_TRUE(second.Connect(listener_->port()));
  ASSERT_TRUE(third.Connect((*other_door)->port()));
  EXPECT_TRUE(waiting_come_to_be(3)) << stats_.waiting;
  (*other_door)->Stop();
  EXPECT_TRUE(waiting_come_to_be(2)) << stats_.waiting;
}

TEST_F(GrpcListenerTest, WhoseTurnNeverComesIsTurnedOut) {
  Open({.per_second = 1e-6,
        .at_once = 1,
        .handshakes = 1'000,
        .waiting = 1'000,
        .longest_wait = std::chrono::seconds(1)});
  Client first, second;
  ASSERT_TRUE(first.Connect(listener_->port()));
  ASSERT_TRUE(ComeToBe(1));
  ASSERT_TRUE(second.Connect(listener_->port()));
  EXPECT_TRUE(second.WasClosed());
  EXPECT_EQ(Refused(GrpcRefusal::kHandshakeTimeout), 1u);
  EXPECT_EQ(In(), 1u);
}

TEST_F(GrpcListenerTest, WhoLeftWhileHeWaitedTakesNobodysTurn) {
  Open({.per_second = 1, .at_once = 2, .handshakes = 1'000, .waiting = 2'000});
  Client first, second, patient;
  ASSERT_TRUE(first.Connect(listener_->port()));
  ASSERT_TRUE(second.Connect(listener_->port()));
  ASSERT_TRUE(ComeToBe(2));
  // A quarter of an hour's worth of turns.
  for (int i = 0; i < 1'000; ++i) {
    Client impatient;
    ASSERT_TRUE(impatient.Connect(listener_->port()));
  }
  ASSERT_TRUE(patient.Connect(listener_->port()));
  patient.Say('p');
  ASSERT_TRUE(ComeToBe(3));
  EXPECT_TRUE(HeardOne('p')) << "the patient one, not one who has left";
}

TEST_F(GrpcListenerTest, EveryInterfaceIsBothFamilies) {
  Open(kAny, "");
  Client four, six(AF_INET6);
  EXPECT_TRUE(four.Connect(listener_->port()));
  size_t come = 1;
  if (six.Connect(listener_->port())) {
    ++come;
  } else {
    EXPECT_TRUE(errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) << errno << ": no IPv6 here";
  }
  EXPECT_TRUE(ComeToBe(come));
}

TEST_F(GrpcListenerTest, ATakenPortIsSaid) {
  Open(kAny);
  const auto second =
      GrpcListener::Bind({"127.0.0.1", listener_->port()}, kAny, &stats_, &connections_);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace telltale::collector
