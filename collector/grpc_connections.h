// The open connections of a gRPC server, and what each may bring that is no message of a call.
//
// Why: gRPC 1.51 bounds headers by a limit that counts only once the other side has confirmed it,
// and frames of settings, pings and cancelled calls not at all, so whoever got as far as TLS could
// fill the memory. What is read of a connection is counted here by TLS record, as it is decrypted;
// messages that a service took in are taken off again, and a connection that brought too much else
// is ended.
//
// Thread-safe. Belongs to whoever starts the server; outlives the server and its services. What a
// connection is counted in outlives both if need be.

#ifndef TELLTALE_COLLECTOR_GRPC_CONNECTIONS_H_
#define TELLTALE_COLLECTOR_GRPC_CONNECTIONS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collector/grpc_stats.h"

namespace telltale::collector {

class OpenConnections;

// One connection. Any thread.
class GrpcConnection {
 public:
  // What is read of a connection besides messages: handshake, headers, frames that steer, and as
  // much of messages as gRPC takes in ahead of the service (64 KiB a connection). An agent has
  // brought some 30 KiB when its hour is over.
  static constexpr int64_t kAllowance = 256 << 10;
  // For each call of somebody who may call: headers and a small question.
  static constexpr int64_t kCall = 1 << 10;
  // The longest message that a service takes, and how much of a longer one may come, so that gRPC
  // can say that it is too long.
  static constexpr int64_t kMessage = 1 << 20, kRoom = 2 * kMessage;

  // `address`: whose handshakes are counted together.
  GrpcConnection(int socket, std::string key, std::string address,
                 std::shared_ptr<OpenConnections> open);
  ~GrpcConnection();
  GrpcConnection(const GrpcConnection&) = delete;
  GrpcConnection& operator=(const GrpcConnection&) = delete;

  // A service took in a message of so many bytes.
  void Took(size_t message_bytes);
  // A call of somebody who may call has come.
  void Admitted();
  // A stream that has brought a message may bring a long one until it gives that room back. One
  // stream has it at a time, as many as an agent opens: else streams that are opened and cancelled
  // faster than they are told of it would make room for ever more. False: another has it.
  bool TakeRoom();
  void GiveRoomBack();

  // TLS is agreed on.
  void Agreed() { agreed_ = true; }
  bool agreed() const { return agreed_; }
  const std::string& address() const { return address_; }
  // So many bytes went to the other side, which confirms them.
  void Sent(size_t bytes);
  // So many bytes came. Only while the connection is read, which keeps its socket open.
  void Brought(size_t bytes);

 private:
  void Credit(int64_t bytes);

  const int socket_;
  const std::string key_, address_;
  const std::shared_ptr<OpenConnections> open_;
  std::atomic<int64_t> left_{kAllowance};
  std::atomic<bool> agreed_{false};
  std::atomic<bool> room_taken_{false};
  std::atomic<bool> ended_{false};
};

class GrpcConnections {
 public:
  // `stats` counts connections that are ended; it outlives this; null: nothing is counted.
  explicit GrpcConnections(GrpcStats* stats);
  ~GrpcConnections();
  GrpcConnections(const GrpcConnections&) = delete;
  GrpcConnections& operator=(const GrpcConnections&) = delete;

  // While it lives, the TLS connection that this thread begins is the one of `socket`.
  class Arriving {
   public:
    Arriving(const GrpcConnections& connections, int socket, const std::string& address);
    ~Arriving();
    Arriving(const Arriving&) = delete;
    Arriving& operator=(const Arriving&) = delete;

   private:
    std::shared_ptr<GrpcConnection> connection_;
  };

  // By what gRPC calls the peer ("ipv4:10.0.0.7:51234"); null: no such connection is open.
  std::shared_ptr<GrpcConnection> Of(const std::string& peer) const;
  // Connections whose handshake has begun and that are not closed.
  size_t open() const;
  // Handshakes under way, by address. One that takes longer than kLongHandshake is not among them:
  // whoever never ends his keeps nobody out.
  std::unordered_map<std::string, size_t> Handshakes(
      std::chrono::steady_clock::time_point now) const;
  static constexpr std::chrono::seconds kLongHandshake{10};

 private:
  const std::shared_ptr<OpenConnections> open_;
};

// Address and port of a peer as gRPC writes it, in one form for each pair; "" if it is none.
std::string ConnectionKey(std::string_view peer);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_GRPC_CONNECTIONS_H_
