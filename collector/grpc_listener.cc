#include "collector/grpc_listener.h"

#include <arpa/inet.h>
#include <grpcpp/server_builder.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "spdlog/spdlog.h"

namespace telltale::collector {
namespace {

constexpr int kTakenAtOnce = 64;  // of one socket, before the others have their turn
constexpr int kPauseMs = 10;      // while somebody waits
constexpr char kAll[] = "";       // the one bucket
// What the kernel keeps of a connection until gRPC reads it: somewhat more than may come unasked
// (64 KiB of messages), and little to what a flood could leave there while its end is on its way.
constexpr int kUnreadBytes = 128 << 10;
constexpr std::chrono::minutes kSayFullEvery{1};

uint64_t FileLimit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
}

std::string AddressText(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text,
              sizeof text);
  } else if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  }
  return text;
}

uint16_t PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

void SetPort(uint16_t port, sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(port);
  }
}

// A name may stand for addresses of a family that this host does not have.
bool NotHere(int error) { return error == EAFNOSUPPORT || error == EADDRNOTAVAIL; }

// The connection was gone before it was taken, or something came in between: the next one.
bool OnlyThisOne(int error) {
  return error == EINTR || error == ECONNABORTED || error == EPROTO || error == ENETDOWN ||
         error == ENOPROTOOPT || error == EHOSTDOWN || error == ENONET || error == EHOSTUNREACH ||
         error == EOPNOTSUPP || error == ENETUNREACH || error == EPERM;
}

// Whoever waited until his own patience was over has left: his handshake would be in vain.
bool HasLeft(int connection) {
  tcp_info info{};
  socklen_t length = sizeof info;
  return getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         info.tcpi_state != TCP_ESTABLISHED;
}

// Whoever crowds takes an eighth of the files at most.
size_t CrowdPlaces(size_t wanted) {
  const uint64_t limit = FileLimit();
  return std::min<size_t>(wanted, (limit - std::min(limit, GrpcListener::Reserve(limit))) / 8);
}

}  // namespace

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

uint64_t GrpcListener::Reserve(uint64_t limit) {
  constexpr uint64_t kLeast = 32, kMost = 2'000;  // the store opens at most so many
  return std::clamp(limit / 10, kLeast, kMost);
}

ConnectionPace ConnectionPace::OfMachine() {
  constexpr double kPatienceS = 15;
  const double cpus = std::max(1u, std::thread::hardware_concurrency());
  const double per_second = 100 * cpus;
  return {.per_second = per_second,
          .at_once = 2 * per_second,
          .handshakes = static_cast<size_t>(per_second),
          .waiting = static_cast<size_t>(kPatienceS * per_second)};
}

GrpcListener::GrpcListener(const ConnectionPace& pace, GrpcStats* stats,
                           const GrpcConnections* connections)
    : stats_(stats),
      connections_(connections),
      pace_({.per_second = pace.per_second, .at_once = pace.at_once}),
      most_handshakes_(pace.handshakes),
      longest_wait_(pace.longest_wait),
      waiting_(pace.waiting, CrowdPlaces(pace.crowding)) {}

GrpcListener::~GrpcListener() {
  Stop();
  if (wake_ >= 0) close(wake_);
}

int GrpcListener::BindOne(int family, const void* address, uint32_t length) {
  const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int on = 1, off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // connections inherit both
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kUnreadBytes, sizeof kUnreadBytes);
  if (family == AF_INET6) {
    const bool any = IN6_IS_ADDR_UNSPECIFIED(&static_cast<const sockaddr_in6*>(address)->sin6_addr);
    // Every interface: both families by one socket.
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, any ? &off : &on, sizeof on);
  }
  if (bind(fd, static_cast<const sockaddr*>(address), length) != 0 || listen(fd, SOMAXCONN) != 0) {
    const int error = errno;
    close(fd);
    return error;
  }
  listeners_.push_back(fd);
  return 0;
}

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::Bind(
    const config::Address& listen, const ConnectionPace& pace, GrpcStats* stats,
    const GrpcConnections* connections) {
  std::unique_ptr<GrpcListener> listener(new GrpcListener(pace, stats, connections));
  listener->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener->wake_ < 0) return absl::ErrnoToStatus(errno, "eventfd");
  // An empty name is every interface: of both families where there are both.
  std::vector<std::string> hosts = {listen.host};
  if (listen.host.empty()) hosts = {"::", "0.0.0.0"};
  std::string why = "no address";
  for (const std::string& host : hosts) {
    if (listen.host.empty() && !listener->listeners_.empty()) break;
    addrinfo hints = {}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    const int code = getaddrinfo(host.c_str(), nullptr, &hints, &found);
    if (code != 0) {
      why = gai_strerror(code);
      continue;
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, &freeaddrinfo);
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
      sockaddr_storage address{};
      std::memcpy(&address, each->ai_addr, each->ai_addrlen);
      SetPort(listener->port_ != 0 ? listener->port_ : listen.port, address);
      const int error =
          listener->BindOne(each->ai_family, &address, static_cast<uint32_t>(each->ai_addrlen));
      if (error == 0) {
        listener->port_ = PortOf(listener->listeners_.back());
        continue;
      }
      why = std::strerror(error);
      if (!NotHere(error)) return absl::UnavailableError(why);
    }
  }
  if (listener->listeners_.empty()) return absl::UnavailableError(why);
  return listener;
}

void GrpcListener::Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  thread_ = std::thread([this] { Run(); });
}

void GrpcListener::Stop() {
  if (!stopping_.exchange(true) && thread_.joinable()) {
    const uint64_t one = 1;
    (void)!write(wake_, &one, sizeof one);
    thread_.join();
  }
  for (const int fd : listeners_) close(fd);
  listeners_.clear();
}

void GrpcListener::Run() {
  std::vector<pollfd> waits;
  for (const int fd : listeners_) waits.push_back({fd, POLLIN, 0});
  waits.push_back({wake_, POLLIN, 0});
  while (!stopping_) {
    const bool has_room = waiting_.HasRoom();
    if (poll(waits.data(), waits.size(), has_room && waiting_.size() == 0 ? -1 : 0) < 0) continue;
    bool taken = has_room;
    for (const pollfd& wait : waits) {
      if (has_room && wait.fd != wake_ && (wait.revents & POLLIN) != 0) {
        taken = TakeFrom(wait.fd) && taken;
      }
    }
    BeginWithThoseDue();
    TurnOutThoseWhoWaitedTooLong();
    TellWaiting(waiting_.size());
    if (taken && waiting_.size() == 0) continue;
    // Until another may be begun with, or a file is free again.
    pollfd& stop = waits.back();
    poll(&stop, 1, kPauseMs);
  }
  while (const auto left = waiting_.Next([](const std::string&) { return true; })) {
    close(left->connection);
  }
  TellWaiting(0);
}

void GrpcListener::TellWaiting(size_t now) {
  if (stats_ != nullptr) stats_->waiting += now - told_waiting_;
  told_waiting_ = now;
}

bool GrpcListener::TakeFrom(int listener) {
  for (int i = 0; i < kTakenAtOnce && waiting_.HasRoom(); ++i) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      LetIn(fd);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
    if (OnlyThisOne(errno)) continue;
    Refuse(GrpcRefusal::kAccept);
    SayFull(FileLimit());
    return false;
  }
  return true;
}

void GrpcListener::LetIn(int connection) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getpeername(connection, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    close(connection);  // he has left
    return;
  }
  // The kernel gives the lowest number that is free, so at least as many are in use.
  const uint64_t limit = FileLimit();
  if (static_cast<uint64_t>(connection) + Reserve(limit) >= limit) {
    Refuse(GrpcRefusal::kFiles);
    SayFull(limit);
    close(connection);
    return;
  }
  const auto turned_out =
      waiting_.Enter(AddressText(address), connection, std::chrono::steady_clock::now());
  if (!turned_out.has_value()) return;
  if (!HasLeft(*turned_out)) Refuse(GrpcRefusal::kRate);
  close(*turned_out);
}

void GrpcListener::BeginWithThoseDue() {
  if (waiting_.size() == 0) return;
  const auto now = std::chrono::steady_clock::now();
  auto handshakes = connections_->Handshakes(now);
  size_t all = 0;
  for (const auto& [address, count] : handshakes) all += count;
  // While others wait, an address has half of the places: whoever does not end his handshakes keeps
  // nobody out.
  const auto may = [&](const std::string& address) {
    return waiting_.lines() == 1 || 2 * handshakes[address] < most_handshakes_;
  };
  while (all < most_handshakes_ && pace_.Take(kAll, now)) {
    const auto turn = waiting_.Next(may);
    const bool left = turn.has_value() && HasLeft(turn->connection);
    if (!turn.has_value() || left) pace_.GiveBack(kAll, now);
    if (!turn.has_value()) return;
    const int connection = turn->connection;
    if (left) {
      close(connection);
      continue;
    }
    ++handshakes[turn->key];
    ++all;
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters given;
    given.listener_fd = listeners_.front();
    given.fd = connection;
    const GrpcConnections::Arriving arriving(*connections_, connection, turn->key);
    acceptor_->HandleNewConnection(&given);
  }
}

void GrpcListener::TurnOutThoseWhoWaitedTooLong() {
  constexpr std::chrono::milliseconds kLookEvery{250};
  const auto now = std::chrono::steady_clock::now();
  if (waiting_.size() == 0 || now < looked_ + kLookEvery) return;
  looked_ = now;
  for (const int connection : waiting_.TurnOutThoseSince(now - longest_wait_)) {
    if (!HasLeft(connection)) Refuse(GrpcRefusal::kHandshakeTimeout);
    close(connection);
  }
}

void GrpcListener::Refuse(GrpcRefusal refusal) {
  if (stats_ != nullptr) stats_->Refuse(refusal);
}

void GrpcListener::SayFull(uint64_t limit) {
  const auto now = std::chrono::steady_clock::now();
  if (said_full_ != std::chrono::steady_clock::time_point{} && now < said_full_ + kSayFullEvery) {
    return;
  }
  said_full_ = now;
  spdlog::error(
      "grpc: connections are refused: of the {} files that may be open nearly all are ({} are left "
      "to the store); raise LimitNOFILE of the service, or ulimit -n, above the number of nodes",
      limit, Reserve(limit));
}

}  // namespace telltale::collector
