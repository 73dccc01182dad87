#include "collector/grpc_connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "spdlog/spdlog.h"

namespace telltale::collector {

// What outlives the server with its last connection.
class OpenConnections {
 public:
  explicit OpenConnections(GrpcStats* stats) : stats_(stats) {}

  void Add(const std::string& key, const std::shared_ptr<GrpcConnection>& connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_[key] = connection;
    begun_.push_back({std::chrono::steady_clock::now(), connection});
  }

  std::unordered_map<std::string, size_t> Handshakes(std::chrono::steady_clock::time_point now) {
    // Whoever lets go of a connection last takes the lock for it: that may be who looks at it here,
    // and so these go after it.
    std::vector<std::shared_ptr<GrpcConnection>> looked_at;
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unordered_map<std::string, size_t> under_way;
    looked_at.reserve(begun_.size());
    std::erase_if(begun_, [&](const Begun& one) {
      const auto& connection = looked_at.emplace_back(one.connection.lock());
      if (connection == nullptr || connection->agreed()) return true;
      if (now - one.at > GrpcConnections::kLongHandshake) return true;
      ++under_way[connection->address()];
      return false;
    });
    return under_way;
  }

  // Unless a later connection has the same address and port by now.
  void Remove(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = open_.find(key);
    if (found != open_.end() && found->second.expired()) open_.erase(found);
  }

  std::shared_ptr<GrpcConnection> Of(const std::string& key) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = open_.find(key);
    return found == open_.end() ? nullptr : found->second.lock();
  }

  size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return open_.size();
  }

  void Ended(const std::string& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stats_ != nullptr) stats_->Refuse(GrpcRefusal::kFlood);
    const auto now = std::chrono::steady_clock::now();
    if (now < say_from_) return;
    say_from_ = now + kSayEvery;
    spdlog::warn(
        "grpc: the connection of {} is ended: it brought {} KiB more than the messages of its "
        "calls, such as headers without end; those of a minute are told by one line",
        key, GrpcConnection::kAllowance >> 10);
  }

  void Forget() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stats_ = nullptr;
  }

 private:
  static constexpr std::chrono::minutes kSayEvery{1};

  struct Begun {
    std::chrono::steady_clock::time_point at;
    std::weak_ptr<GrpcConnection> connection;
  };

  mutable std::mutex mutex_;
  GrpcStats* stats_;                                                     // guarded by mutex_
  std::unordered_map<std::string, std::weak_ptr<GrpcConnection>> open_;  // guarded by mutex_
  std::vector<Begun> begun_;                                             // guarded by mutex_
  std::chrono::steady_clock::time_point say_from_{};                     // guarded by mutex_
};

namespace {

using Shared = std::shared_ptr<GrpcConnection>;

// OpenSSL tells of a new connection without anything of ours, on the thread that begins it.
thread_local const Shared* begun_with = nullptr;

void OnRecord(int written, int /*version*/, int type, const void* record, size_t length, SSL*,
              void* connection) {
  // A record's header: its kind, two bytes of version, and how long it is.
  const auto* header = static_cast<const uint8_t*>(record);
  auto* const one = static_cast<GrpcConnection*>(connection);
  // The last message of a handshake of TLS 1.3.
  if (type == SSL3_RT_HANDSHAKE && written == 0 && length > 0 && header[0] == SSL3_MT_FINISHED) {
    one->Agreed();
  }
  if (type != SSL3_RT_HEADER || length < SSL3_RT_HEADER_LENGTH) return;
  const size_t bytes = SSL3_RT_HEADER_LENGTH + (size_t{header[3]} << 8 | header[4]);
  written != 0 ? one->Sent(bytes) : one->Brought(bytes);
}

void OnNew(void* ssl, void*, CRYPTO_EX_DATA* data, int index, long, void*) {
  if (begun_with == nullptr) return;
  auto* kept = new Shared(*begun_with);
  if (CRYPTO_set_ex_data(data, index, kept) == 0) {
    delete kept;
    return;
  }
  SSL_set_msg_callback(static_cast<SSL*>(ssl), OnRecord);
  SSL_set_msg_callback_arg(static_cast<SSL*>(ssl), kept->get());
}

void OnFree(void*, void* kept, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<Shared*>(kept);
}

// OpenSSL keeps such places for as long as the process lives.
void TakePlace() {
  static const int place =
      CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nullptr, OnNew, nullptr, OnFree);
  (void)place;
}

std::string Key(std::string_view address, std::string_view port) {
  return std::string(address).append(" ").append(port);
}

std::string Text(const in6_addr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    inet_ntop(AF_INET, address.s6_addr + 12, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, &address, text, sizeof text);
  }
  return text;
}

std::string KeyOf(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  if (address.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    return Key(Text(six.sin6_addr), std::to_string(ntohs(six.sin6_port)));
  }
  if (address.ss_family != AF_INET) return "";
  const auto& four = reinterpret_cast<const sockaddr_in&>(address);
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
  return Key(text, std::to_string(ntohs(four.sin_port)));
}

}  // namespace

std::string ConnectionKey(std::string_view peer) {
  const bool six = peer.starts_with("ipv6:");
  if (!six && !peer.starts_with("ipv4:")) return "";
  peer.remove_prefix(5);
  const size_t colon = peer.rfind(':');
  if (colon == std::string_view::npos) return "";
  const std::string_view port = peer.substr(colon + 1);
  std::string_view host = peer.substr(0, colon);
  if (!six) return Key(host, port);
  // [fe80::1%25eth0], with the brackets written as %5B and %5D.
  for (const std::string_view open : {"%5B", "["}) {
    if (host.starts_with(open)) host.remove_prefix(open.size());
  }
  for (const std::string_view close : {"%5D", "]"}) {
    if (host.ends_with(close)) host.remove_suffix(close.size());
  }
  in6_addr address{};
  const std::string without_zone(host.substr(0, host.find('%')));
  if (inet_pton(AF_INET6, without_zone.c_str(), &address) != 1) return "";
  return Key(Text(address), port);
}

GrpcConnection::GrpcConnection(int socket, std::string key, std::string address,
                               std::shared_ptr<OpenConnections> open)
    : socket_(socket), key_(std::move(key)), address_(std::move(address)), open_(std::move(open)) {}

GrpcConnection::~GrpcConnection() { open_->Remove(key_); }

// What is brought for what is credited comes before it, or after it by less than a window: there is
// nothing to save up.
void GrpcConnection::Credit(int64_t bytes) {
  const int64_t most = kAllowance + (room_taken_ ? kRoom : 0);
  int64_t left = left_;
  while (left < most && !left_.compare_exchange_weak(left, std::min(left + bytes, most))) {
  }
}

void GrpcConnection::Took(size_t message_bytes) {
  // Frames and records are below an eighth of a message; of a small one they are most.
  constexpr int64_t kFrames = 256;
  const auto bytes = static_cast<int64_t>(message_bytes);
  Credit(bytes + bytes / 8 + kFrames);
}

void GrpcConnection::Admitted() { Credit(kCall); }

bool GrpcConnection::TakeRoom() {
  if (room_taken_.exchange(true)) return false;
  left_ += kRoom;
  return true;
}

void GrpcConnection::GiveRoomBack() {
  left_ -= kRoom;
  room_taken_ = false;
}

void GrpcConnection::Sent(size_t bytes) {
  // Window updates for it, two of 35 bytes in records of their own for each 32 KiB, and room.
  constexpr size_t kConfirmed = 64;
  Credit(static_cast<int64_t>(bytes / kConfirmed));
}

void GrpcConnection::Brought(size_t bytes) {
  if ((left_ -= static_cast<int64_t>(bytes)) >= 0 || ended_.exchange(true)) return;
  // gRPC reads what is in the kernel's buffer (see GrpcListener), finds the end and closes it. With
  // a reset, for else the other side may go on waiting for room to send.
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  shutdown(socket_, SHUT_RDWR);
  open_->Ended(key_);
}

GrpcConnections::GrpcConnections(GrpcStats* stats)
    : open_(std::make_shared<OpenConnections>(stats)) {
  TakePlace();
}

GrpcConnections::~GrpcConnections() { open_->Forget(); }

GrpcConnections::Arriving::Arriving(const GrpcConnections& connections, int socket,
                                    const std::string& address) {
  const std::string key = KeyOf(socket);
  connection_ = std::make_shared<GrpcConnection>(socket, key, address, connections.open_);
  connections.open_->Add(key, connection_);
  begun_with = &connection_;
}

GrpcConnections::Arriving::~Arriving() { begun_with = nullptr; }

std::shared_ptr<GrpcConnection> GrpcConnections::Of(const std::string& peer) const {
  return open_->Of(ConnectionKey(peer));
}

size_t GrpcConnections::open() const { return open_->size(); }

std::unordered_map<std::string, size_t> GrpcConnections::Handshakes(
    std::chrono::steady_clock::time_point now) const {
  return open_->Handshakes(now);
}

}  // namespace telltale::collector
